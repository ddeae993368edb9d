package image

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minisrp/test/durable/daemon"
	"minisrp/test/need"
)

var full = flag.Bool("full", false, "take 1 GiB, with the Go distribution")

func run(t *testing.T, path string, args ...string) string {
	t.Helper()
	began := time.Now()
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", path, strings.Join(args, " "), err, out)
	}
	t.Logf("%s: %v", filepath.Base(path), time.Since(began).Round(time.Millisecond))
	return string(out)
}

// TestImage copies an image in and out, and lets e2fsck judge what came out; then once more after a restart.
func TestImage(t *testing.T) {
	mkfs, fsck, nbdcopy, nbdinfo := need.Tool(t, "mkfs.ext4"), need.Tool(t, "e2fsck"), need.Tool(t, "nbdcopy"), need.Tool(t, "nbdinfo")
	dir := t.TempDir()
	content, size := filepath.Join("..", "..", "scsi"), uint64(64<<20)
	if *full {
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			t.Fatal(err)
		}
		content, size = strings.TrimSpace(string(root)), 1<<30
	}
	in := filepath.Join(dir, "in.img")
	run(t, mkfs, "-q", "-F", "-d", content, in, fmt.Sprintf("%dk", size>>10))
	run(t, fsck, "-fn", in)

	program := filepath.Join(dir, "srpd")
	if out, err := exec.Command("go", "build", "-o", program, "minisrp/cmd/srpd").CombinedOutput(); err != nil {
		t.Fatalf("building cmd/srpd: %v\n%s", err, out)
	}
	cmd := daemon.Command{Argv: []string{program, "run", "--embedded", "--state-dir", filepath.Join(dir, "state"), "--size", fmt.Sprint(size)}}
	for i := range 2 {
		d, uri := start(t, cmd)
		if got := strings.TrimSpace(run(t, nbdinfo, "--size", uri)); got != fmt.Sprint(size) {
			t.Errorf("nbdinfo says %s bytes, want %d", got, size)
		}
		if i == 0 {
			run(t, nbdcopy, "--flush", in, uri)
		}
		out := filepath.Join(dir, fmt.Sprintf("out%d.img", i))
		run(t, nbdcopy, uri, out)
		if err := d.Stop(30 * time.Second); err != nil {
			t.Fatal(err)
		}
		same(t, in, out)
		run(t, fsck, "-fn", out)
	}
}

func start(t *testing.T, c daemon.Command) (*daemon.Daemon, string) {
	t.Helper()
	d, err := daemon.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.Ended() == nil {
			_ = d.Kill()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	uri, err := d.Ready(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return d, uri
}

// same compares two files.
func same(t *testing.T, a, b string) {
	t.Helper()
	fa, err := os.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	defer fb.Close()
	ba, bb := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := 0; ; {
		na, erra := io.ReadFull(fa, ba)
		nb, errb := io.ReadFull(fb, bb)
		if !bytes.Equal(ba[:na], bb[:nb]) {
			t.Fatalf("%s and %s differ in the MiB at %d", a, b, at)
		}
		if at += na; erra != nil || errb != nil {
			t.Logf("%d bytes are the same", at)
			return
		}
	}
}
