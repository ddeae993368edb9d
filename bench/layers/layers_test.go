package layers_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minisrp/bench/layers"
)

// module makes one with benchmarks in some of its packages.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module example\n\ngo 1.26.0\n",
		"a/a_test.go":          "package a\n\nimport \"testing\"\n\nfunc BenchmarkOne(b *testing.B) {\n\tb.SetBytes(8)\n\tfor b.Loop() {\n\t}\n}\n",
		"b/b_test.go":          "package b\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {}\n",
		"skipped/s_test.go":    "package s\n\nimport \"testing\"\n\nfunc BenchmarkSkipped(b *testing.B) {}\n",
		"testdata/t/t_test.go": "package t\n\nfunc BenchmarkNot() {}\n",
		"wrong/w_test.go":      "package w\n\nimport \"testing\"\n\nfunc BenchmarkWrong(b *testing.B) { b.Fatal(\"on purpose\") }\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	dir := module(t)
	packages, err := layers.Packages(dir, "skipped")
	if err != nil || !slices.Equal(packages, []string{"./a", "./wrong"}) {
		t.Fatalf("packages %q, %v", packages, err)
	}
	got, err := layers.Run(t.Context(), dir, "100x", packages)
	if err == nil || !strings.Contains(err.Error(), "on purpose") {
		t.Errorf("the wrong one: %v", err)
	}
	if len(got) != 1 || got[0].Package != "example/a" || !strings.HasPrefix(got[0].Name, "BenchmarkOne") || got[0].N != 100 || got[0].AllocsPer != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestRoot(t *testing.T) {
	dir := module(t)
	if got, err := layers.Root(filepath.Join(dir, "a"), "example"); got != dir || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := layers.Root(dir, "other"); !errors.Is(err, layers.ErrNoSource) {
		t.Errorf("another module: %v", err)
	}
}
