package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/exitcode"
)

// A daemon that has only a configuration serves what it says; options replace it.
func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "srpd.toml")
	text := `[log]
level = "debug"
[[embedded]]
name = "lab"
[[embedded.unit]]
store = "ram"
size = "1M"
[[embedded.unit]]
store = "file"
size = "2M"
path = "two.img"
[[embedded]]
unit = [{store = "null", size = "3M", read-only = true}]
[[export]]
unit = "disk1"
name = "data"
read-only = true
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := output(t, exec.Command(srpdPath, "validate", "--config", file)); code != exitcode.OK || !strings.Contains(out, "2 embedded targets with 3 units") {
		t.Errorf("srpd validate: %d\n%s", code, out)
	}
	state := filepath.Join(dir, "state")
	p := start(t, state, "--config", file, "--log-level", "info")
	targets, _ := p.srpctl("targets")
	units, _ := p.srpctl("units")
	if !strings.Contains(targets, "lab") || !strings.Contains(targets, "embedded") || strings.Count(units, "naa.") < 3 {
		t.Errorf("srpctl says\n%s%s", targets, units)
	}
	if strings.Contains(p.errs.String(), "level=DEBUG") {
		t.Error("--log-level does not replace what the file says")
	}
	if st, err := os.Stat(filepath.Join(state, "two.img")); err != nil || st.Size() != 2<<20 {
		t.Errorf("the file of a unit: %v, %v", st, err)
	}
	if out := tool(t, "nbdinfo", p.uri("data")); !strings.Contains(out, "export-size: 2097152") || !strings.Contains(out, "is_read_only: true") {
		t.Errorf("nbdinfo says\n%s", out)
	}
	if out := tool(t, "nbdinfo", p.uri("disk2")); !strings.Contains(out, "is_read_only: true") {
		t.Errorf("a unit that is write protected is\n%s", out)
	}
	p.stop()

	// Who they are stays, and so do their names.
	p = start(t, state, "--config", file)
	if again, _ := p.srpctl("units"); again != units {
		t.Errorf("after a restart there are\n%s, not\n%s", again, units)
	}
	p.stop()

	// Options in the place of the embedded targets.
	p = start(t, state, embeddedArgs("--config", file)...)
	if out, _ := p.srpctl("targets"); strings.Contains(out, "lab") {
		t.Errorf("with --embedded there are\n%s", out)
	}
}

// What is wrong is told by validate and run alike, with codes.
func TestWrongConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "srpd.toml")
	if err := os.WriteFile(file, []byte("[log]\nlevel = \"loud\"\ncolour = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	texts := []string{file + ":2: log.level: ", file + ":3: log.colour: no such option"}
	fails(t, exitcode.Usage, texts, "validate", "--config", file)
	fails(t, exitcode.Usage, texts, "run", "--state-dir", filepath.Join(dir, "s"), "--config", file)
	fails(t, exitcode.NotFound, []string{"none.toml"}, "validate", "--config", filepath.Join(dir, "none.toml"))
	fails(t, exitcode.NotFound, []string{"none.toml"}, "run", "--state-dir", filepath.Join(dir, "s"), "--config", filepath.Join(dir, "none.toml"))
}
