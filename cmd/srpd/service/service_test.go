package service_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"minisrp/cmd/srpd/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// manager listens where systemd would.
func manager(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return c
}

func next(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 4096)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// What is told, in which order; the watchdog is told only while the check succeeds.
func TestLife(t *testing.T) {
	c := manager(t)
	t.Setenv("WATCHDOG_USEC", "20000")
	m := service.New(slog.New(slog.DiscardHandler))
	m.Starting("up soon")
	m.Ready("2 disks")
	for _, want := range []string{"STATUS=up soon", "READY=1\nSTATUS=2 disks"} {
		if got := next(t, c); got != want {
			t.Errorf("systemd is told %q, want %q", got, want)
		}
	}
	var checks atomic.Int32
	sick := make(chan struct{})
	m.Watch(func(context.Context) error {
		if n := checks.Add(1); n > 3 {
			if n == 6 {
				close(sick)
			}
			return errors.New("sick")
		}
		return nil
	})
	<-sick
	m.Stopping()
	alive := 0
	for {
		got := next(t, c)
		if strings.HasPrefix(got, "STOPPING=1") {
			break
		}
		if got != "WATCHDOG=1" {
			t.Errorf("systemd is told %q", got)
		}
		alive++
	}
	if alive != 3 {
		t.Errorf("alive %d times, want 3", alive)
	}
}

// Without systemd nothing happens.
func TestNone(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "")
	m := service.New(slog.New(slog.DiscardHandler))
	m.Ready("")
	m.Watch(func(context.Context) error { t.Error("checked"); return nil })
	m.Stopping()
}

func ExampleManager() {
	m := service.New(slog.Default())
	m.Starting("logging in")
	m.Ready("1 disk is served")
	m.Watch(func(context.Context) error { return nil })
	m.Stopping()
	fmt.Println("ended")
	// Output: ended
}
