package nbd_test

import (
	"strings"
	"testing"
	"time"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// Clients that announce long writes and send nothing hold their memory for a bounded time.
func TestStalledPayload(t *testing.T) {
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 72 * mib, PayloadTimeout: time.Second},
		nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(32*mib))})
	var all []*client
	for range 2 {
		k := s.dial(t)
		k.enter("x", simple)
		k.request(0, write, 1, 0, 32*mib)
		all = append(all, k)
	}
	for _, k := range all {
		k.eof()
	}
	eventually(t, "they are counted", func() bool { return s.Stats().Exports[0].Cut == 2 })
	if !strings.Contains(s.log.String(), "does not send what it announced") {
		t.Errorf("the log does not say why:\n%s", s.log)
	}
	k := s.dial(t)
	k.enter("x", simple)
	k.request(0, write, 1, 0, 4*mib, make([]byte, 4*mib))
	k.want(0, 1)
	// The time is that of a payload, not of what comes after it.
	eventually(t, "there is no deadline any more", func() bool { return s.readUntil.Load() == 0 })
	k.request(0, read, 2, 0, 512)
	k.wantData(512, 2)
}

// By default all connections that are let in have memory.
func TestDefaultsAgree(t *testing.T) {
	if need := int64(nbd.DefaultMaxConns) * nbd.DefaultConnMemory; need > nbd.DefaultMemoryLimit {
		t.Errorf("%d connections take %d bytes of %d", nbd.DefaultMaxConns, need, nbd.DefaultMemoryLimit)
	}
}

// A large request waits for memory that another has, while that one makes progress, and is refused in the end.
func TestLargeRequestWaits(t *testing.T) {
	d := ram(t, nbdtest.Disk(32*mib))
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 36 * mib}, nbd.Export{Name: "x", Backend: d})
	a, b := s.dial(t), s.dial(t)
	a.enter("x", simple)
	b.enter("x", simple)
	a.request(0, read, 1, 0, 32*mib) // which it does not take
	eventually(t, "the memory is taken", func() bool { return s.Stats().Memory == 36*mib })
	b.request(0, read, 1, 0, 512)
	b.request(0, read, 2, 0, 32*mib)
	b.wantData(512, 1) // is not held up
	eventually(t, "the other waits", func() bool { return s.Stats().Exports[0].Waits > 1 })
	a.wantData(32*mib, 1)
	b.wantData(32*mib, 2)
}

func TestLargeRequestIsRefused(t *testing.T) {
	d := ram(t, nbdtest.Disk(32*mib))
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 36 * mib, PayloadTimeout: 500 * time.Millisecond},
		nbd.Export{Name: "x", Backend: d})
	a, k := s.dial(t), s.dial(t)
	a.enter("x", simple)
	k.enter("x", simple)
	d.Hold()
	a.request(0, read, 1, 0, 32*mib)
	eventually(t, "the memory is taken", func() bool { return d.Held() == 1 })
	for i := range uint64(2) {
		k.request(0, read, i, 0, 4*mib)
		k.want(12, i)
	}
	d.Release()
	a.wantData(32*mib, 1)
	k.request(0, read, 9, 0, 4*mib)
	k.wantData(4*mib, 9)
}
