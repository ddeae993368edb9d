package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/exitcode"
)

// A disk of --store badger keeps what was written, and a snapshot brings it to another daemon.
func TestThinDisk(t *testing.T) {
	a := start(t, t.TempDir(), "--embedded", "--store", "badger", "--size", "64M")
	tool(t, "qemu-io", "-f", "raw", "-c", "write -P 0x5a 1M 3M", "-c", "discard 2M 1M", "-c", "flush", a.uri("disk0"))
	a.stop()
	if code := a.wait(); code != exitcode.OK {
		t.Fatalf("exit code %d\n%s", code, a.errs)
	}
	list, code := output(t, exec.Command(srpdPath, "snapshot", "list", "--state-dir", a.state))
	if code != exitcode.OK || list != "embedded-0\n" {
		t.Errorf("%d: %q", code, list)
	}
	snapshot, err := exec.Command(srpdPath, "snapshot", "save", "embedded-0", "--state-dir", a.state).Output()
	if err != nil {
		t.Fatal(err)
	}

	state := t.TempDir()
	b := start(t, state, "--embedded", "--store", "badger", "--size", "64M")
	busy, code := output(t, exec.Command(srpdPath, "snapshot", "list", "--state-dir", state))
	if code != exitcode.InUse || !strings.Contains(busy, filepath.Join(state, "thin")) {
		t.Errorf("while a daemon has it: %d: %s", code, busy)
	}
	b.stop()
	b.wait()
	restore := exec.Command(srpdPath, "snapshot", "restore", "embedded-1", "--state-dir", state)
	restore.Stdin = bytes.NewReader(snapshot)
	if out, code := output(t, restore); code != exitcode.OK {
		t.Fatalf("%d: %s", code, out)
	}
	b = start(t, state, "--embedded", "--store", "badger", "--luns", "2", "--size", "64M")
	out := tool(t, "qemu-io", "-f", "raw", "-c", "read -P 0x5a 1M 1M", "-c", "read -P 0 2M 1M", "-c", "read -P 0x5a 3M 1M", "-c", "read -P 0 4M 60M", b.uri("disk1"))
	if strings.Contains(out, "fail") {
		t.Error(out)
	}
}

// A damaged database of thin disks is refused, with the file's name and the way out; disks in files are served; and the
// way out works without another start.
func TestThinDamaged(t *testing.T) {
	dir := t.TempDir()
	state, file := filepath.Join(dir, "state"), filepath.Join(dir, "srpd.toml")
	text := "[[embedded]]\nname = \"a\"\nunit = [{size = \"4M\"}]\n" +
		"[[embedded]]\nname = \"b\"\nunit = [{store = \"badger\", size = \"4M\"}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, state, "--config", file)
	qemuIO(t, p.uri("disk0"), "write -P 0x51 0 1M", "flush")
	qemuIO(t, p.uri("disk1"), "write -P 0x52 0 1M", "flush")
	p.stop()
	p.wait()
	db := filepath.Join(state, "thin")
	if err := os.Truncate(filepath.Join(db, "db", "MANIFEST"), 10); err != nil {
		t.Fatal(err)
	}
	out, code := output(t, exec.Command(srpdPath, "snapshot", "list", "--state-dir", state))
	if code != exitcode.State || !strings.Contains(out, "MANIFEST") || !strings.Contains(out, "mv "+db+" ") {
		t.Errorf("%d: %s", code, out)
	}

	p = start(t, state, "--config", file)
	qemuIO(t, p.uri("disk0"), "read -P 0x51 0 1M")
	p.awaitLog("unit has no store", "thin store "+db, "MANIFEST", "mv "+db)
	if err := os.Rename(db, db+".bad"); err != nil {
		t.Fatal(err)
	}
	p.awaitOutput("exports   disk1", "units", "disk1")
	qemuIO(t, p.uri("disk1"), "read -P 0 0 1M")
}
