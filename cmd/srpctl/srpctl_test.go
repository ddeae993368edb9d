package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"minisrp/cmd/control"
	"minisrp/cmd/control/controltest"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/paths"
	"minisrp/cmd/srpd/socket"
)

var update = flag.Bool("update", false, "write the golden files anew")

// serve serves a source below a directory, as a daemon with that state directory does.
func serve(t *testing.T, s control.Source) (dir string) {
	t.Helper()
	dir = t.TempDir()
	l, err := socket.ListenUnix(filepath.Join(dir, paths.ControlSocket), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(s, controltest.FullAdmin(), slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Shutdown(t.Context())
		<-done
	})
	return dir
}

// srpctl runs the program.
func srpctl(env map[string]string, args ...string) (string, exitcode.Code, error) {
	var out, errs bytes.Buffer
	c := command(&out, &errs, paths.Env{Get: func(n string) string { return env[n] }, UID: 1})
	c.SetArgs(args)
	err := c.Execute()
	return out.String(), exitcode.Of(err), err
}

// What is printed does not change by accident.
func TestTables(t *testing.T) {
	dir := serve(t, controltest.Full())
	for name, args := range map[string][]string{
		"targets":  {"targets"},
		"units":    {"units"},
		"one-unit": {"units", "naa.6000000000000002"},
		"counters": {"counters"},
	} {
		out, _, err := srpctl(nil, append(args, "--state-dir", dir)...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || string(want) != out {
			t.Errorf("%s prints\n%s\nand %s has (%v)\n%s", name, out, golden, err, want)
		}
	}
	out, _, err := srpctl(nil, "version", "--state-dir", dir)
	if err != nil || !strings.HasPrefix(out, "srpctl ") || !strings.Contains(out, "srpd v1.2.3, process 4711 since 2026-11-30T08:00:00Z") {
		t.Errorf("version prints %q, %v", out, err)
	}
}

// --json is what the daemon said.
func TestJSON(t *testing.T) {
	src := controltest.Full()
	dir := serve(t, src)
	for name, want := range map[string]any{"targets": &src.T, "units": &src.U, "counters": &src.C, "version": &src.D} {
		out, _, err := srpctl(nil, name, "--json", "--socket", filepath.Join(dir, paths.ControlSocket))
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		if err != nil || json.Unmarshal([]byte(out), got) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestExitCodes(t *testing.T) {
	dir := serve(t, controltest.Full())
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		env  map[string]string
		args []string
		code exitcode.Code
		text string
	}{
		{nil, []string{"units", "--state-dir", dir, "disk7"}, exitcode.NotFound, `no unit "disk7"`},
		{nil, []string{"targets", "--state-dir", dir, "nobody"}, exitcode.NotFound, `no target "nobody"`},
		{nil, []string{"units", "--socket", none}, exitcode.NoDaemon, none},
		{nil, []string{"units"}, exitcode.Usage, "--socket"},
		{map[string]string{"XDG_RUNTIME_DIR": filepath.Dir(none)}, []string{"units"}, exitcode.NoDaemon, filepath.Dir(none)},
		{nil, []string{"units", "--sockt", none}, exitcode.Usage, "sockt"},
		{nil, []string{"unit"}, exitcode.Usage, `"unit"`},
		{nil, []string{"counters", "x"}, exitcode.Usage, `"x"`},
	} {
		if _, code, err := srpctl(c.env, c.args...); code != c.code || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v: %d, %v; want %d", c.args, code, err, c.code)
		}
	}
	if out, code, err := srpctl(nil, "--help"); code != exitcode.OK || !strings.Contains(out, exitcode.Table()) {
		t.Errorf("--help: %v\n%s", err, out)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB", 1<<20 - 1: "1 MiB", 8 << 30: "8 GiB", 1 << 63: "8 EiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
