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
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 72 * mib, PayloadTimeout: 50 * time.Millisecond},
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
	k.request(0, write, 1, 0, 32*mib, make([]byte, 32*mib))
	k.want(0, 1)
	// The time is that of a payload, not of what comes after it.
	<-time.After(100 * time.Millisecond)
	k.request(0, read, 2, 0, 512)
	k.wantData(512, 2)
}

// By default all connections that are let in have memory.
func TestDefaultsAgree(t *testing.T) {
	if need := int64(nbd.DefaultMaxConns) * nbd.DefaultConnMemory; need > nbd.DefaultMemoryLimit {
		t.Errorf("%d connections take %d bytes of %d", nbd.DefaultMaxConns, need, nbd.DefaultMemoryLimit)
	}
}
