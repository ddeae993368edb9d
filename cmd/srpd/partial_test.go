package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"minisrp/cmd/exitcode"
)

// several is a configuration of three embedded targets, of which b has two units, all in files.
func several(t *testing.T, dir, more string) string {
	t.Helper()
	text := more
	for _, name := range []string{"a", "b", "c"} {
		text += fmt.Sprintf("[[embedded]]\nname = %q\n[[embedded.unit]]\nsize = \"4M\"\n", name)
		if name == "b" {
			text += "[[embedded.unit]]\nsize = \"4M\"\n"
		}
	}
	file := filepath.Join(dir, "srpd.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// spoil puts a directory in the place of a disk image, and returns how that is undone.
func spoil(t *testing.T, image string) (mend func()) {
	t.Helper()
	if err := os.Rename(image, image+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(image, 0o700); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(image); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(image+".away", image); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitOutput asks srpctl until it says a text.
func (p *proc) awaitOutput(text string, args ...string) string {
	p.t.Helper()
	for deadline := time.Now().Add(readyTime); ; runtime.Gosched() {
		out, code := p.srpctl(args...)
		if code == exitcode.OK && strings.Contains(out, text) {
			return out
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("srpctl %v does not say %q, but (%d)\n%s", args, text, code, out)
		}
	}
}

// A unit whose store cannot be had, and a target that refuses the login, are told of with the way out; the others are
// served; what heals is served too.
func TestPartialStart(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	file := several(t, dir, "")
	p := start(t, state, "--config", file)
	if n := strings.Count(p.out.String(), "\n  nbd+unix:"); n != 4 {
		t.Fatalf("%d disks are served\n%s", n, p.out)
	}
	qemuIO(t, p.uri("disk1"), "write -P 0x51 0 1M", "flush")
	qemuIO(t, p.uri("disk2"), "write -P 0x52 0 1M", "flush")
	p.stop()

	image := filepath.Join(state, "b-1.img")
	mend := spoil(t, image)
	c := notifySocket(t)
	p = start(t, state, "--config", file, "--embedded-fault", "reject=0x00010003")
	c.await("READY=1")
	for _, text := range []string{"2 disks served; failed: target a: ", "0x00010003", image, "not a regular file"} {
		c.await(text)
	}
	p.awaitLog("unit has no store", image, "advice=\"move what is there away")
	for name, pattern := range map[string]string{"disk1": "0x51", "disk3": "0"} {
		tool(t, "nbdcopy", p.uri(name), filepath.Join(t.TempDir(), "copy"))
		qemuIO(t, p.uri(name), "read -P "+pattern+" 0 1M")
	}
	if out, _ := p.srpctl("units", "disk2"); !strings.Contains(out, "b/1") || !strings.Contains(out, "failed") || !strings.Contains(out, image) {
		t.Errorf("srpctl units says of what is missing\n%s", out)
	}

	// The store is tried again until it can be opened, and the login until it succeeds.
	mend()
	c.await("STATUS=3 disks served; failed: target a: ")
	qemuIO(t, p.uri("disk2"), "read -P 0x52 0 1M")
	p.stop()
	p = start(t, state, "--config", file, "--embedded-fault", "reject=0x00010003,times=2")
	c.await("STATUS=4 disks served\n")
	qemuIO(t, p.uri("disk0"), "read -P 0 0 1M")
	p.stop()
}

// What is required keeps the daemon from starting, as what the command line names does.
func TestRequired(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	start(t, state, "--config", several(t, dir, "")).stop()
	image := filepath.Join(state, "z.img")
	if err := os.Mkdir(image, 0o700); err != nil {
		t.Fatal(err)
	}
	file := several(t, dir, "[[embedded]]\nname = \"z\"\nrequired = true\nunit = [{path = \"z.img\"}]\n")
	fails(t, exitcode.Usage, []string{"z: embedded target, LUN 0, " + image, "not a regular file"}, "run", "--state-dir", state, "--config", file)
	login := "[[target]]\nrequired = %v\nlogin = \"id_ext=0000000000000003,ioc_guid=0000000000000004,dest=192.0.2.99:5555\"\n"
	fails(t, exitcode.Unreachable, []string{"192.0.2.99:5555", "no RDMA device"},
		"run", "--state-dir", state, "--config", several(t, dir, fmt.Sprintf(login, true)))

	// One that is not required is looked for, with nothing served meanwhile.
	c := notifySocket(t)
	p, _ := launch(t, state, "--config", several(t, dir, fmt.Sprintf(login, false)))
	c.await("READY=1\nSTATUS=0 disks served")
	c.await("STATUS=0 disks served; failed: target 192.0.2.99:5555: ")
	if out := p.awaitOutput("192.0.2.99:5555", "targets"); !strings.Contains(out, "failed") {
		t.Errorf("srpctl targets says\n%s", out)
	}
	p.stop()
	if !strings.Contains(p.out.String(), "no disk is served yet") {
		t.Errorf("srpd says\n%s", p.out)
	}
}

// A daemon that has no target waits for one to be added, and says so.
func TestNoTarget(t *testing.T) {
	c := notifySocket(t)
	p, _ := launch(t, filepath.Join(t.TempDir(), "state"))
	c.await("READY=1\nSTATUS=0 disks served")
	p.awaitLog("there is no target to log in to yet", "srpd run --embedded")
	if out, code := p.srpctl("add", "id_ext=1,ioc_guid=2,dest=192.0.2.99:5555"); code != exitcode.Unreachable || !strings.Contains(out, "add --embedded") {
		t.Errorf("srpctl add: %d\n%s", code, out)
	}
	p.stop()
}

// A disk image that is cut, lost or another one is refused with its name and the way out; the other disks are served.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	start(t, state, embeddedArgs("--luns", "2")...).stop()
	image := filepath.Join(state, "disk0.img")
	run := append([]string{"run", "--state-dir", state}, "--embedded", "--luns", "2")
	refused := func(texts ...string) {
		t.Helper()
		fails(t, exitcode.Unusable, append(texts, image, "remove "+image+".mark to take what is there"), run...)
	}
	truncate := func(n int64) {
		t.Helper()
		if err := os.Truncate(image, n); err != nil {
			t.Fatal(err)
		}
	}
	truncate(1 << 20)
	refused("it had 67108864 bytes, and has 1048576")
	truncate(0)
	refused("it had 67108864 bytes, and is gone")
	if err := os.Rename(image, image+".away"); err != nil {
		t.Fatal(err)
	}
	refused("is gone")

	// Of several targets the others are served.
	file := filepath.Join(dir, "srpd.toml")
	text := fmt.Sprintf("[[embedded]]\nname = \"a\"\n[[embedded.unit]]\npath = %q\n[[embedded]]\nname = \"b\"\nunit = [{store = \"ram\", size = \"1M\"}]\n", image)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, state, "--config", file)
	if out, code := p.srpctl("units"); code != exitcode.OK || !strings.Contains(out, image) {
		t.Errorf("srpctl units: %d\n%s", code, out)
	}
	p.stop()

	if err := os.Rename(image+".away", image); err != nil {
		t.Fatal(err)
	}
	truncate(64 << 20)
	id := make([]byte, 64)
	n, err := unix.Getxattr(image, "user.minisrp.id", id)
	if err == nil {
		if err := unix.Setxattr(image, "user.minisrp.id", []byte("another"), 0); err != nil {
			t.Fatal(err)
		}
		refused("it is another one")
		if err := unix.Setxattr(image, "user.minisrp.id", id[:n], 0); err != nil {
			t.Fatal(err)
		}
	}
	truncate(65 << 20) // it may grow
	p = start(t, state, "--embedded", "--luns", "2")
	if out := strings.TrimSpace(tool(t, "nbdinfo", "--size", p.uri("disk0"))); out != fmt.Sprint(65<<20) {
		t.Errorf("size is %s", out)
	}
	p.stop()

	// The way out.
	truncate(64 << 20)
	refused("it had 68157440 bytes, and has 67108864")
	if err := os.Remove(image + ".mark"); err != nil {
		t.Fatal(err)
	}
	start(t, state, "--embedded", "--luns", "2").stop()
}

// A target that says by SRP_AER_REQ that its units are others is answered and asked, and its disks stay.
func TestAsyncEvent(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs("--embedded-fault", "aer=3f0e,op=read,times=1")...)
	qemuIO(t, p.uri("disk0"), "read 0 1M", "write 0 1M", "read 0 1M")
	p.awaitOutput(`"async_events": 1`, "targets", "--json")
	qemuIO(t, p.uri("disk0"), "read 0 1M")
}

// With --read-only a disk image that is there is opened for reading only, by the kernel's word, and nothing is put beside
// it: it may be where nobody can write.
func TestReadOnlyImage(t *testing.T) {
	dir := t.TempDir()
	state, place := filepath.Join(dir, "state"), filepath.Join(dir, "medium")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(place, "image")
	want := bytes.Repeat([]byte{0x51}, 1<<20)
	if err := os.WriteFile(image, want, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(place, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(place, 0o700) })
	file := filepath.Join(dir, "srpd.toml")
	text := fmt.Sprintf("[[embedded]]\nname = \"a\"\nrequired = true\nunit = [{path = %q}]\n", image)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, state, "--config", file, "--read-only")
	if flags := openFlags(t, p.cmd.Process.Pid, image); flags&unix.O_ACCMODE != unix.O_RDONLY {
		t.Errorf("the image is open with flags %o", flags)
	}
	if out := tool(t, "nbdinfo", p.uri("disk0")); !strings.Contains(out, "is_read_only: true") {
		t.Errorf("nbdinfo says\n%s", out)
	}
	copied := filepath.Join(dir, "copy")
	tool(t, "nbdcopy", p.uri("disk0"), copied)
	if got, err := os.ReadFile(copied); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes are read, other than there are, %v", len(got), err)
	}
	p.stop()
	if names, err := os.ReadDir(place); err != nil || len(names) != 1 {
		t.Errorf("beside the image there are %v, %v", names, err)
	}
	if _, err := unix.Getxattr(image, "user.minisrp.id", nil); err == nil {
		t.Error("the image is marked")
	}
}

// openFlags returns the flags with which a process has a file open (proc(5)).
func openFlags(t *testing.T, pid int, path string) (flags int) {
	t.Helper()
	proc := filepath.Join("/proc", fmt.Sprint(pid))
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if name, _ := os.Readlink(filepath.Join(proc, "fd", fd.Name())); name != path {
			continue
		}
		info, err := os.ReadFile(filepath.Join(proc, "fdinfo", fd.Name()))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(info), "flags:")
		if _, err := fmt.Sscanf(rest, "%o", &flags); err != nil {
			t.Fatal(err)
		}
		return flags
	}
	t.Fatalf("process %d does not have %s open", pid, path)
	return 0
}
