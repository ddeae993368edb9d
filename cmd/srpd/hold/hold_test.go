package hold_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"minisrp/cmd/srpd/hold"
)

const envPath = "HOLD_TEST_PATH"

// TestMain is a process that holds a lock until its standard input ends, when the environment says so.
func TestMain(m *testing.M) {
	path := os.Getenv(envPath)
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := hold.New(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestSecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := hold.New(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = hold.New(path)
	var in *hold.InUseError
	if !errors.Is(err, hold.ErrInUse) || !errors.As(err, &in) || in.Holder.PID != os.Getpid() || !strings.Contains(err.Error(), path) {
		t.Fatalf("second: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the lock file is still there")
	}
}

// After SIGKILL the file is there, and holds nobody up.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envPath+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if n, err := out.Read(b); string(b[:n]) != "held" {
		t.Fatalf("the child says %q, %v", b[:n], err)
	}
	_, err = hold.New(path)
	if want := fmt.Sprintf("process %d (hold.test)", cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := os.Stat(path); err != nil {
		t.Error("the dead process has cleared up; the test shows nothing")
	}
	l, err := hold.New(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// One at a time, whatever the order of locking and removing.
func TestRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var mine sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				l, err := hold.New(path)
				if errors.Is(err, hold.ErrInUse) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !mine.TryLock() {
					t.Error("held twice")
				}
				mine.Unlock()
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{filepath.Join(dir, "link"), filepath.Join(dir, "no", "dir"), dir} {
		if _, err := hold.New(p); err == nil || errors.Is(err, hold.ErrInUse) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if h := (hold.Holder{}).String(); h != "another process" {
		t.Error(h)
	}
}
