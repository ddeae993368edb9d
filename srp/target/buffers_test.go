package target

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/verbs/dispatch"
)

// buffersUser takes and gives back memory as commands do.
type buffersUser struct {
	t    *testing.T
	p    *dispatch.Processor
	b    *Buffers
	c    *channel
	held map[*command]byte // what each has written to all of its memory
	next byte
}

func newBuffersUser(t *testing.T, size int) *buffersUser {
	p := dispatch.NewManual("test")
	b, err := NewBuffers(t.Context(), p, size, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	u := &buffersUser{t: t, p: p, b: b, c: &channel{}, held: map[*command]byte{}}
	u.c.more.Init(p, func(*dispatch.Frame) {})
	return u
}

func (u *buffersUser) at(fn func(f *dispatch.Frame)) {
	var f dispatch.Frame
	u.p.Raise(&f)
	fn(&f)
	f.Lower()
}

// settle lets the worker end, and takes what commands have got.
func (u *buffersUser) settle() {
	for range 200 {
		synctest.Wait()
		u.p.RunUntilIdle()
	}
	for k := u.c.ready.pop(); k != nil; k = u.c.ready.pop() {
		u.got(k)
	}
}

func (u *buffersUser) take(n int) *command {
	k := &command{c: u.c}
	u.at(func(f *dispatch.Frame) {
		if u.b.take(f, k, n) {
			u.got(k)
		}
	})
	return k
}

func (u *buffersUser) got(k *command) {
	u.next++
	u.held[k] = u.next
	for i := range k.numPieces {
		b := k.bytes(i)
		b[0], b[len(b)-1] = u.next, u.next
	}
	if (k.vector != nil) != (k.numPieces > 1) {
		u.t.Errorf("a command with %d cells has a vector: %v", k.numPieces, k.vector != nil)
	}
}

func (u *buffersUser) put(k *command) {
	want := u.held[k]
	delete(u.held, k)
	for i := range k.numPieces {
		if b := k.bytes(i); b[0] != want || b[len(b)-1] != want {
			u.t.Fatal("a cell was given to two commands")
		}
	}
	u.at(func(f *dispatch.Frame) { u.b.put(f, k) })
}

// advance moves both clocks: the worker's goroutine is on the test's.
func (u *buffersUser) advance(d time.Duration) {
	time.Sleep(d)
	u.p.Advance(d)
	u.settle()
}

func (u *buffersUser) close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := u.b.Close(context.Background()); err != nil {
			u.t.Error(err)
		}
	}()
	u.p.RunUntil(done)
}

// Memory comes when commands ask for more than is there, and goes when it has not been needed for a while; the longest
// transfer always fits.
func TestBuffersGrowAndShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newBuffersUser(t, 4*minBuffers)
		defer u.close()
		kept, all := len(u.b.pieces.free), u.b.pieces.all
		if kept < maxPieces+1 || kept > maxPieces+1+pieceStep {
			t.Fatalf("%d pieces are present at first, want a little more than %d", kept, maxPieces)
		}
		for round := range 3 {
			var ks []*command
			for range all / maxPieces {
				ks = append(ks, u.take(maxPieces))
			}
			waits, small := u.take(maxPieces), u.take(0)
			u.settle()
			if _, ok := u.held[waits]; ok || len(u.held) != len(ks)+1 {
				t.Fatalf("round %d: %d commands have memory, want all but the last of %d", round, len(u.held), len(ks)+2)
			}
			u.put(ks[0])
			u.settle()
			if _, ok := u.held[waits]; !ok {
				t.Fatalf("round %d: the last command waits although there is memory", round)
			}
			for _, k := range append(ks[1:], waits, small) {
				u.put(k)
			}
			for range 4 {
				u.advance(bufferTick)
			}
			if n := len(u.b.pieces.free); n != kept || len(u.b.vectors) != u.b.pieces.keep*pieceStep/2 {
				t.Errorf("round %d: %d pieces and %d vectors are left, want %d pieces", round, n, len(u.b.vectors), kept)
			}
			if _, ticks := u.p.NextTimer(); ticks {
				t.Errorf("round %d: a timer runs although nothing is left to give back", round)
			}
		}
	})
}

// At random, no cell is given twice, and who asked first is served first.
func TestBuffersModel(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			u := newBuffersUser(t, 2*minBuffers)
			defer u.close()
			rnd := rand.New(rand.NewPCG(seed, 2))
			var asked []*command // that have not been served, by kind
			var busy []*command
			serve := func() {
				late := map[*cells]bool{}
				rest := asked[:0]
				for _, k := range asked {
					if _, ok := u.held[k]; !ok {
						late[k.cells] = true
						rest = append(rest, k)
						continue
					}
					if late[k.cells] {
						t.Fatal("a later command was served before an earlier one")
					}
					busy = append(busy, k)
				}
				asked = rest
			}
			for range 400 {
				switch n := rnd.IntN(10); {
				case n < 4:
					asked = append(asked, u.take(rnd.IntN(4)*rnd.IntN(maxPieces/3)))
				case n < 8 && len(busy) > 0:
					i := rnd.IntN(len(busy))
					u.put(busy[i])
					busy[i] = busy[len(busy)-1]
					busy = busy[:len(busy)-1]
				case n == 8:
					u.settle()
				default:
					u.advance(time.Duration(rnd.IntN(int(bufferTick))))
				}
				for k := u.c.ready.pop(); k != nil; k = u.c.ready.pop() {
					u.got(k)
				}
				serve()
			}
			for len(busy) > 0 {
				u.put(busy[0])
				busy = busy[1:]
				u.settle()
				serve()
			}
			if len(asked) > 0 {
				t.Errorf("%d commands wait although all memory is free", len(asked))
			}
		})
	}
}
