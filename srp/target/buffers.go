package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Buffers is memory for data of units whose store is not memory, and for descriptor tables. A command gets all that it
// needs, of one kind of cells, or waits, first come first served: so nobody waits for memory while holding some.
//
//	pieces of pieceSize | small cells of smallSize
//
// A port has its own unless it is given one that it shares with other ports of its processor. Of one that is shared only
// as much is present as the longest transfer takes, and as much more as commands have asked for lately.
//
// Ownership: made by NewBuffers, ended by Close of the same caller when no port has it any more. What commands take
// belongs to the processor.
type Buffers struct {
	// Fixed after construction.
	arena  *arena.Arena
	proc   *dispatch.Processor
	worker *dispatch.Worker // makes memory present and gives it back; nil if all is present for good
	log    *slog.Logger

	pieces  cells
	small   cells
	vectors []*vector // one for every two pieces that are present
}

// vector is what a command with several pieces has to name them.
type vector struct{ data [maxPieces][]byte }

// NewBuffers makes memory that ports on p may share: size bytes of pieces at most, minBuffers or more, and as small
// cells an eighth of it. Errors: ErrConfig, no memory.
func NewBuffers(ctx context.Context, p *dispatch.Processor, size int, log *slog.Logger) (*Buffers, error) {
	if size < minBuffers || size > maxBuffers {
		return nil, fmt.Errorf("%w: buffer memory is %d, must be %d to %d", ErrConfig, size, minBuffers, maxBuffers)
	}
	b := &Buffers{log: log, worker: dispatch.NewWorker(1)}
	if err := b.open(p, size, minBuffers); err != nil {
		b.worker.Close()
		return nil, err
	}
	return b, nil
}

// open reserves the memory for size bytes of pieces, of which keep bytes are there for good.
func (b *Buffers) open(p *dispatch.Processor, size, keep int) (err error) {
	b.proc = p
	n := min(size/pieceSize, 1<<16)
	few := min(max(n*pieceSize/smallShare/smallSize, smallStep), 1<<16)
	if b.arena, err = arena.Reserve(n*pieceSize + few*smallSize); err != nil {
		return err
	}
	b.vectors = make([]*vector, 0, n)
	b.pieces.init(b, 0, pieceSize, n, pieceStep, keep)
	b.small.init(b, n*pieceSize, smallSize, few, smallStep, keep/smallShare)
	for _, c := range []*cells{&b.pieces, &b.small} {
		for i := range c.keep {
			if err := c.populate(i); err != nil {
				return errors.Join(err, b.arena.Close())
			}
			c.add(i)
		}
	}
	return nil
}

// Close gives the memory back. No command has any of it.
func (b *Buffers) Close(ctx context.Context) error {
	if b.worker != nil {
		if err := b.proc.Call(ctx, func(f *dispatch.Frame) {
			b.pieces.stop(f)
			b.small.stop(f)
		}); err != nil {
			return err
		}
		b.worker.Close()
		// What the worker did last has been told.
		if err := b.proc.Call(ctx, func(*dispatch.Frame) {}); err != nil {
			return err
		}
	}
	return b.arena.Close()
}

// take gives a command the cells that it needs: n pieces, or with 0 a small one. It reports false if the command has to
// wait.
func (b *Buffers) take(f *dispatch.Frame, k *command, n int) bool {
	if n == 0 {
		k.need, k.cells = 1, &b.small
	} else {
		k.need, k.cells = n, &b.pieces
	}
	return k.cells.take(f, k)
}

// put takes back what a command has.
func (b *Buffers) put(f *dispatch.Frame, k *command) {
	if k.vector != nil {
		b.vectors = dispatch.Append(b.vectors, k.vector)
		k.vector = nil
	}
	k.cells.put(f, k)
}

// hand tells commands that they have got their memory.
func hand(f *dispatch.Frame, served list) {
	for k := served.pop(); k != nil; k = served.pop() {
		k.c.ready.push(k)
		k.c.more.Queue(f)
	}
}

// sweep takes aborted commands of a port out of the queues.
func (b *Buffers) sweep(f *dispatch.Frame) {
	b.pieces.sweep(f)
	b.small.sweep(f)
}

// bytes returns the memory of k's cell i.
func (k *command) bytes(i int) []byte {
	c := k.cells
	return c.of.arena.Bytes()[c.base+int(k.pieces[i])*c.size:][:c.size:c.size]
}

// addr returns the address of k's cell i.
func (k *command) addr(i int) uint64 {
	c := k.cells
	return c.of.arena.Addr() + uint64(c.base+int(k.pieces[i])*c.size)
}
