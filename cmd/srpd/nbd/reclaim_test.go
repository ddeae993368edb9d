package nbd_test

import (
	"context"
	"fmt"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// After a peak of connections their memory goes back, but for a little, and what is kept is there for a large request.
func TestMemoryAfterPeak(t *testing.T) {
	d := ram(t, nbdtest.Disk(32*mib))
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 40 * mib}, nbd.Export{Name: "x", Backend: d})
	var all []*client
	for range 20 {
		k := s.dial(t)
		k.enter("x", simple)
		all = append(all, k)
	}
	if n := s.Stats().Memory; n != 40*mib {
		t.Fatalf("20 connections have %d bytes", n)
	}
	for _, k := range all {
		k.request(0, disc, 0, 0, 0)
		k.eof()
	}
	eventually(t, "memory goes back", func() bool { return s.Stats().Memory <= 8*mib && d.Regions() <= 4 })
	k := s.dial(t)
	k.enter("x", simple)
	for i := range 3 {
		k.request(0, write, uint64(i), 0, 32*mib)
		k.send(make([]byte, 32*mib))
		k.want(0, uint64(i))
	}
	// The region for large requests is not the connection's for good: others take it, or its memory.
	o := s.dial(t)
	o.enter("x", simple)
	o.request(0, read, 9, 0, 32*mib)
	o.wantData(32*mib, 9)
	for _, c := range []*client{k, o} { // a region is given back after the reply, and before the next one
		c.request(0, read, 10, 0, 512)
		c.wantData(512, 10)
	}
	for range 17 {
		s.dial(t).enter("x", simple)
	}
}

// What one export keeps, another can have.
func TestMemoryOfOtherExports(t *testing.T) {
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 36 * mib},
		nbd.Export{Name: "a", Backend: ram(t, nbdtest.Disk(32*mib))},
		nbd.Export{Name: "b", Backend: ram(t, nbdtest.Disk(32*mib))})
	for i := range 4 {
		k := s.dial(t)
		k.enter(fmt.Sprintf("%c", 'a'+i%2), simple)
		k.request(0, read, 1, 0, 32*mib)
		k.wantData(32*mib, 1)
		k.request(0, disc, 0, 0, 0)
		k.eof()
		eventually(t, "it is gone", func() bool { return s.Stats().Connections == 0 })
	}
	if err := s.Remove(context.Background(), "a"); err != nil {
		t.Error(err)
	}
}
