package socket_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/srpd/hold"
	"minisrp/cmd/srpd/socket"
)

// After SIGKILL the socket is still there; the next start needs no help.
func TestListenUnixStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := socket.ListenUnix(path, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640&^umask(t) {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func umask(t *testing.T) fs.FileMode {
	t.Helper()
	f := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(f, nil, 0o777); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(f)
	if err != nil {
		t.Fatal(err)
	}
	return 0o777 &^ st.Mode().Perm()
}

func TestListenUnixInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := socket.ListenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := socket.ListenUnix(path, 0o600); !errors.Is(err, hold.ErrInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("second listener: %v", err)
	}
	_ = l.Close()
	// A program that knows nothing of the lock.
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := socket.ListenUnix(path, 0o600); !errors.Is(err, hold.ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("beside another program: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the other program's socket is gone: %v", err)
	}
}

func TestListenUnixRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := socket.ListenUnix(file, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("on a file: %v", err)
	}
	if b, _ := os.ReadFile(file); string(b) != "precious" {
		t.Error("the file was touched")
	}
	for _, path := range []string{"", "@abstract", filepath.Join(dir, strings.Repeat("x", 110)), filepath.Join(dir, "no", "such")} {
		if _, err := socket.ListenUnix(path, 0o600); err == nil || errors.Is(err, hold.ErrInUse) {
			t.Errorf("on %q: %v", path, err)
		}
	}
}

func TestListenTCP(t *testing.T) {
	l, err := socket.ListenTCP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := socket.ListenTCP(l.Addr().String()); !errors.Is(err, hold.ErrInUse) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("second listener: %v", err)
	}
	for _, a := range []string{":10809", "localhost", "127.0.0.1:99999"} {
		if _, err := socket.ListenTCP(a); err == nil {
			t.Errorf("listening on %q", a)
		}
	}
}

func TestPeerOf(t *testing.T) {
	l, err := socket.ListenUnix(filepath.Join(t.TempDir(), "s"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nc, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if p, ok := socket.PeerOf(nc); !ok || p.PID != os.Getpid() || p.UID != os.Getuid() || p.GID != os.Getgid() || !p.In(p.GID) || p.In(54321) {
		t.Errorf("%+v, %t", p, ok)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, ok := socket.PeerOf(a); ok {
		t.Error("a pipe has a peer")
	}
}

// 0.0.0.0 is all networks of IPv4, and no others.
func TestAllNetworks(t *testing.T) {
	l, err := socket.ListenTCP("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a := l.Addr().String(); !strings.HasPrefix(a, "0.0.0.0:") {
		t.Errorf("listens at %s", a)
	}
}
