package miniport

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// absent is a port on a processor that runs, and an HCA.
func absent(t *testing.T) (*Port, *SRP) {
	t.Helper()
	p := dispatch.New("test")
	t.Cleanup(p.Close)
	hca, err := soft.New(soft.Config{}).Plug(soft.HCAConfig{Name: "hca", GUID: 1, Addr: netip.MustParseAddr("192.0.2.1")})
	if err != nil {
		t.Fatal(err)
	}
	device := verbs.Open(hca, p, nil)
	t.Cleanup(func() {
		if err := device.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	port, err := New(Config{Processors: []*dispatch.Processor{p}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return port, NewSRP(SRPConfig{Device: device})
}

// An adapter that was not found has nothing to close.
func TestCloseWithoutAdapter(t *testing.T) {
	port, mp := absent(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := port.AddAdapter(ctx, "srp0", mp); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := port.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Who gives a registration up may unmap the memory at once: nothing reaches it any more.
func TestRegisterGivenUp(t *testing.T) {
	port, mp := absent(t)
	if _, err := port.AddAdapter(t.Context(), "srp0", mp); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a, err := arena.New(4096)
		if err != nil {
			t.Fatal(err)
		}
		r, err := port.RegisterRegion(ctx, a)
		if err == nil {
			port.DeregisterRegion(t.Context(), r)
		}
		if err := a.Close(); err != nil { // the race detector sees who looks at it later
			t.Error(err)
		}
	}
	if err := port.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
