package export_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"minisrp/cmd/srpd/export"
	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/cmd/srpd/socket"
	"minisrp/scsi/lun"
	"minisrp/test/rig"
)

// serve serves backends by name until the end of the test, and returns the socket.
func serve(t *testing.T, backends map[string]*export.Backend) string {
	t.Helper()
	s, err := nbd.NewServer(nbd.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range backends {
		if err := s.Add(nbd.Export{Name: name, Backend: b}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := socket.ListenUnix(filepath.Join(t.TempDir(), "s"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

const (
	linearBlock  = 512
	linearBlocks = 24 // few, so that requests meet
)

// access is what a request did to a block: to write a value, or to read it.
type access struct {
	block int
	write bool
	value uint64
}

// register is the model of one block: it reads as what was written last. Blocks are independent of each other: NBD
// promises nothing about requests as a whole.
var register = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		by := make([][]porcupine.Operation, linearBlocks)
		for _, o := range all {
			b := o.Input.(access).block
			by[b] = append(by[b], o)
		}
		return by
	},
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		in := input.(access)
		if in.write {
			return true, in.value
		}
		return output.(uint64) == state.(uint64), state
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %v", input, output) },
}

// Requests that overlap, of several connections, on several channels: each block is as one order of them has it, which
// agrees with the order in which they were answered, and never a mix of two.
func TestLinearizable(t *testing.T) {
	stores := map[string]func(t *testing.T) lun.Store{
		"ram": func(t *testing.T) lun.Store {
			s, err := lun.NewRAM(1<<20, linearBlock)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		"file": func(t *testing.T) lun.Store {
			s, err := lun.OpenFile(filepath.Join(t.TempDir(), "disk"), lun.FileOptions{Size: 1 << 20, BlockSize: linearBlock})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r, err := rig.New(t.Context(), rig.Config{Stores: []lun.Store{open(t)}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := r.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			path := serve(t, map[string]*export.Backend{"x": export.New(r.Disks[0], r.Port)})
			rounds := 400
			if testing.Short() {
				rounds = 100
			}
			var mu sync.Mutex
			var all []porcupine.Operation
			var wg sync.WaitGroup
			start := time.Now()
			for who := range 4 {
				c, err := nbdtest.Dial(path, "x")
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					mine := hammer(t, c, who, rounds, start)
					mu.Lock()
					defer mu.Unlock()
					all = append(all, mine...)
				})
			}
			wg.Wait()
			if res := porcupine.CheckOperationsTimeout(register, all, time.Minute); res != porcupine.Ok {
				t.Errorf("%d operations: %v", len(all), res)
			}
		})
	}
}

// hammer reads and writes at random, and returns what it did to each block.
func hammer(t *testing.T, c *nbdtest.Client, who, rounds int, start time.Time) (all []porcupine.Operation) {
	rng := rand.New(rand.NewPCG(uint64(who), 14))
	for i := range rounds {
		first := rng.IntN(linearBlocks)
		n := 1 + rng.IntN(min(8, linearBlocks-first))
		p := make([]byte, n*linearBlock)
		cmd := uint16(nbdtest.Read)
		value := uint64(who+1)<<32 | uint64(i)
		switch rng.IntN(5) {
		case 0, 1:
			cmd = nbdtest.Write
			for at := 0; at < len(p); at += 8 {
				binary.BigEndian.PutUint64(p[at:], value)
			}
		case 2:
			cmd, value = nbdtest.WriteZeroes, 0
		}
		call := time.Since(start).Nanoseconds()
		err := c.Do(cmd, 0, uint64(first*linearBlock), p, uint32(len(p)))
		back := time.Since(start).Nanoseconds()
		if err != nil {
			t.Error(err)
			return nil
		}
		for b := range n {
			o := porcupine.Operation{ClientId: who, Call: call, Return: back}
			if cmd != nbdtest.Read {
				o.Input, o.Output = access{first + b, true, value}, value
			} else {
				block := p[b*linearBlock:][:linearBlock]
				if !bytes.Equal(block[8:], block[:linearBlock-8]) {
					t.Errorf("block %d is a mix: %x", first+b, block)
					return nil
				}
				o.Input, o.Output = access{block: first + b}, binary.BigEndian.Uint64(block)
			}
			all = append(all, o)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	return all
}
