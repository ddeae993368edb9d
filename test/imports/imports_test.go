package imports

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root returns the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		t.Fatal("no go.mod in this directory or above it")
	}
}

// goFiles returns the tree's Go files, by package: directories relative to the root, with slashes. Directories named
// testdata hold what others wrote or what checkers must refuse, and are left out.
func goFiles(t *testing.T, top string) map[string][]string {
	t.Helper()
	files := make(map[string][]string)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != top && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".go") {
			rel, err := filepath.Rel(top, filepath.Dir(path))
			if err != nil {
				return err
			}
			pkg := filepath.ToSlash(rel)
			files[pkg] = append(files[pkg], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no Go files found below ", top)
	}
	return files
}

func TestImportsPointDown(t *testing.T) {
	fset := token.NewFileSet()
	for pkg, files := range goFiles(t, root(t)) {
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, file, nil, parser.ImportsOnly)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, spec := range f.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Error(err)
					continue
				}
				if wrong := check(pkg, path); wrong != "" {
					t.Errorf("%s: %s", fset.Position(spec.Pos()), wrong)
				}
			}
		}
	}
}

// TestEveryPackageHasARule holds also for packages that import nothing of this module.
func TestEveryPackageHasARule(t *testing.T) {
	for pkg := range goFiles(t, root(t)) {
		if !slices.ContainsFunc(rules, func(r rule) bool { return matches(r.pattern, pkg) }) {
			t.Errorf("no rule for package %s: add it to the table in rules_test.go", pkg)
		}
	}
}

func TestRules(t *testing.T) {
	tests := []struct {
		pkg, path string
		ok        bool
	}{
		{"scsi", "encoding/binary", true},
		{"scsi", "minisrp/verbs/arena", false},
		{"scsi", "os", false},
		{"scsi/lun", "minisrp/scsi", true},
		{"scsi/lun", "minisrp/srp", false},
		{"scsi/lun", "minisrp/verbs", false},
		{"scsi/disk", "minisrp/miniport", true},
		{"scsi/disk", "minisrp/srp", false},
		{"scsi/disk", "minisrp/scsi/lun", false},
		{"verbs", "minisrp/verbs/dispatch", true},
		{"verbs/soft", "minisrp/verbs", true},
		{"verbs/soft", "minisrp/srp", false},
		{"srp", "minisrp/verbs", true},
		{"srp", "minisrp/miniport", false},
		{"srp", "minisrp/srp/target", false},
		{"srp/target", "minisrp/srp", true},
		{"srp/target", "minisrp/scsi/lun", true},
		{"srp/target", "minisrp/miniport", false},
		{"miniport", "minisrp/srp", true},
		{"miniport", "minisrp/srp/target", false},
		{"miniport", "minisrp/scsi/disk", false},
		{"pnp", "minisrp/verbs", true},
		{"pnp", "minisrp/miniport", false},
		{"cmd/srpd", "minisrp/srp/target", true},
		{"verbs", "minisrp/cmd/srpd", false},
		{"elsewhere", "minisrp/scsi", false},
	}
	for _, test := range tests {
		if wrong := check(test.pkg, test.path); (wrong == "") != test.ok {
			t.Errorf("%s imports %s: got %q, want ok = %v", test.pkg, test.path, wrong, test.ok)
		}
	}
}

func TestTopLevel(t *testing.T) {
	top := root(t)
	entries, err := os.ReadDir(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !ignored(name) && !slices.Contains(topLevel, name) {
			t.Errorf("%s stands at the top level, which holds only: %s", name, strings.Join(topLevel, " "))
		}
	}
	for _, name := range []string{".ci/run", "LICENSE", "Makefile", "README.md", "go.mod"} {
		if _, err := os.Stat(filepath.Join(top, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	for pkg, files := range goFiles(t, root(t)) {
		var doc string
		for _, file := range files {
			if filepath.Base(file) == "doc.go" {
				doc = file
			}
		}
		if doc == "" {
			t.Errorf("package %s has no doc.go", pkg)
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), doc, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Error(err)
			continue
		}
		if wrong := wrongDoc(f); wrong != "" {
			t.Errorf("%s: %s", doc, wrong)
		}
	}
}

// wrongDoc says what is wrong with the package comment of a doc.go; "" if nothing is.
func wrongDoc(f *ast.File) string {
	want := "Package " + f.Name.Name + " "
	if f.Name.Name == "main" {
		want = "Command "
	}
	switch text := f.Doc.Text(); {
	case text == "":
		return "no package comment"
	case !strings.HasPrefix(text, want):
		return "the package comment does not start with " + strconv.Quote(want)
	}
	return ""
}

func TestFormatted(t *testing.T) {
	for _, files := range goFiles(t, root(t)) {
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
				continue
			}
			formatted, err := format.Source(source)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if !bytes.Equal(source, formatted) {
				t.Errorf("%s is not gofmt'ed", file)
			}
		}
	}
}
