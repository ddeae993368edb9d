package peer

import (
	"errors"
	"os"
	"testing"

	"minisrp/test/durable/daemon"
	"minisrp/test/need"
)

func newPool(t *testing.T) *Pool {
	t.Helper()
	p, err := NewPool("/no/srpd", "/no/bench", 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A server is started once, has a clock, and is gone with its files when the pool is closed.
func TestPool(t *testing.T) {
	need.Tool(t, "nbdkit")
	p := newPool(t)
	s, err := p.Get(t.Context(), NbdkitNull)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.Get(t.Context(), NbdkitNull); again != s || err != nil {
		t.Errorf("another one: %v", err)
	}
	if s.PID == 0 || s.Warm || p.CPU() <= 0 {
		t.Errorf("got %+v, %v", s, p.CPU())
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{p.dir, p.memory} {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	if s.d.Ended() == nil {
		t.Error("the server still runs")
	}
}

// A program that is not there, and one that ends at once, are said to be so.
func TestPoolErrors(t *testing.T) {
	p := newPool(t)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	var missing *MissingError
	if _, err := p.Get(t.Context(), Srpd); !errors.As(err, &missing) || missing.Error() != "/no/srpd is not there" {
		t.Errorf("srpd: %v", err)
	}
	ends := Kind{Name: "ends", URI: unixURI(""), Command: func(Place) []string { return []string{"sh", "-c", "echo no paper >&2; exit 3"} }}
	for range 2 {
		var ended *daemon.EndedError
		if _, err := p.Get(t.Context(), ends); !errors.As(err, &ended) || ended.Tail != "no paper" {
			t.Errorf("one that ends: %v", err)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for uri, want := range map[string][2]string{
		"nbd+unix:///disk0?socket=/run/nbd.sock": {"unix", "/run/nbd.sock"},
		"iscsi://127.0.0.1:3260/iqn.x:y/1":       {"tcp", "127.0.0.1:3260"},
	} {
		if network, address, err := endpoint(uri); network != want[0] || address != want[1] || err != nil {
			t.Errorf("%s: %s %s, %v", uri, network, address, err)
		}
	}
}

func TestVersion(t *testing.T) {
	for out, want := range map[string]string{
		"fio-3.33\n": "fio-3.33",
		"\nUsage: x [-b 8]\niscsi-perf version 0.1 - (c)\n": "iscsi-perf version 0.1 - (c)",
		"no number\n": "of an unknown version",
		"":            "of an unknown version",
	} {
		if got := version(out); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
}
