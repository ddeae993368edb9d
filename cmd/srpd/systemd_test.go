package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/exitcode"
)

// The unit files are right, and leave the daemon no more than it needs, by systemd's own opinion.
func TestUnitFiles(t *testing.T) {
	files, err := filepath.Glob("systemd/*.service")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// systemd looks whether the program is there: the one under test is.
		text := strings.ReplaceAll(string(b), "/usr/bin/srpd", srpdPath)
		if !strings.Contains(text, "ExecStart="+srpdPath) {
			t.Errorf("%s does not start /usr/bin/srpd", file)
		}
		path := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		tool(t, "systemd-analyze", "verify", "--man=no", path)
		tool(t, "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=30", path)
		for _, line := range []string{"Before=remote-fs-pre.target", "Wants=network-online.target remote-fs-pre.target"} {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("%s does not say %s", file, line)
			}
		}
	}
}

// notified is a socket that srpd takes for systemd's. It is read at all times, as systemd's is: a daemon that tells more
// than the kernel keeps waits.
type notified struct {
	t    *testing.T
	told buffer
}

// notifySocket makes one for what this test starts.
func notifySocket(t *testing.T) *notified {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	n := &notified{t: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := make([]byte, 4096); ; {
			k, err := c.Read(b)
			if err != nil {
				return
			}
			_, _ = n.told.Write(append(b[:k:k], '\n'))
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	t.Setenv("NOTIFY_SOCKET", path)
	return n
}

// await waits until systemd has been told a text, and returns all that it was told.
func (n *notified) await(text string) string {
	n.t.Helper()
	if !n.told.await(text) {
		n.t.Fatalf("systemd is not told %q, but\n%s", text, &n.told)
	}
	return n.told.String()
}

// The daemon tells systemd what it does, and is alive.
func TestNotify(t *testing.T) {
	dir := t.TempDir()
	c := notifySocket(t)
	t.Setenv("WATCHDOG_USEC", "200000")
	p := start(t, filepath.Join(dir, "state"), embeddedArgs("--luns", "2")...)
	c.await("READY=1\nSTATUS=2 disks served")
	c.await("WATCHDOG=1\nWATCHDOG=1")
	p.stop()
	told := c.await("STOPPING=1")
	if i, k := strings.Index(told, "STATUS="), strings.Index(told, "READY=1"); i < 0 || i > k {
		t.Errorf("systemd is told\n%s", told)
	}
	// A start that fails is not ready.
	out, code := output(t, exec.Command(srpdPath, "run", "--state-dir", dir+"/x", "--embedded", "--lun", "7"))
	if code != exitcode.NotFound {
		t.Errorf("%d\n%s", code, out)
	}
}
