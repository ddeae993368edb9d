package target

import (
	"context"
	"errors"

	"minisrp/verbs"
	"minisrp/verbs/arena"
)

// pool is the registered memory for data of units whose store is not memory, and for descriptor tables: pieces of
// pieceSize, given to commands of all channels. A command gets all that it needs or waits, first come first served: so
// nobody waits for memory while holding some.
//
// Ownership: the port's processor, but open and close.
type pool struct {
	// Fixed after open.
	arena *arena.Arena
	mr    *verbs.MR

	free    []uint16
	waiting list
}

// open makes the memory.
func (p *pool) open(ctx context.Context, pd *verbs.PD, size int) error {
	a, err := arena.New(size)
	if err != nil {
		return err
	}
	attr := &verbs.MRAttr{Arena: a, Access: verbs.LocalWrite}
	mr, err := wait(context.WithoutCancel(ctx), func(op *verbs.Op[*verbs.MR]) { pd.RegisterMR(op, attr) })
	if err != nil {
		return errors.Join(err, a.Close())
	}
	p.arena, p.mr = a, mr
	for i := range min(a.Size()/pieceSize, 1<<16) {
		p.free = append(p.free, uint16(i))
	}
	return nil
}

// close returns the memory.
//
//level:passive
func (p *pool) close() error { return errors.Join(closeObject(p.mr), p.arena.Close()) }

// take gives k the pieces that it needs, and reports false if k has to wait.
func (p *pool) take(k *command, n int) bool {
	k.need = n
	if p.waiting.head != nil || len(p.free) < n {
		p.waiting.push(k)
		return false
	}
	p.give(k)
	return true
}

func (p *pool) give(k *command) {
	k.numPieces = copy(k.pieces[:k.need], p.free[len(p.free)-k.need:])
	p.free = p.free[:len(p.free)-k.need]
}

// put takes k's pieces back, and returns the commands that have got theirs by it.
func (p *pool) put(k *command) (served list) {
	n := len(p.free) // a place for each is there: all were in it at first
	p.free = p.free[:n+copy(p.free[n:cap(p.free)], k.pieces[:k.numPieces])]
	k.numPieces = 0
	return p.serve()
}

func (p *pool) serve() (served list) {
	for p.waiting.head != nil && len(p.free) >= p.waiting.head.need {
		w := p.waiting.pop()
		p.give(w)
		served.push(w)
	}
	return served
}

// bytes returns piece i.
func (p *pool) bytes(i uint16) []byte {
	return p.arena.Bytes()[int(i)*pieceSize:][:pieceSize:pieceSize]
}

// addr returns the address of piece i.
func (p *pool) addr(i uint16) uint64 { return p.arena.Addr() + uint64(i)*pieceSize }

// list is a first-in-first-out list of commands. A command is in one list at most.
type list struct{ head, tail *command }

func (l *list) push(k *command) {
	k.next = nil
	if l.tail == nil {
		l.head = k
	} else {
		l.tail.next = k
	}
	l.tail = k
}

func (l *list) pop() *command {
	k := l.head
	if k == nil {
		return nil
	}
	if l.head = k.next; l.head == nil {
		l.tail = nil
	}
	k.next = nil
	return k
}

// remove takes k out, and reports whether it was there.
func (l *list) remove(k *command) bool {
	var before *command
	for at := l.head; at != nil; before, at = at, at.next {
		if at != k {
			continue
		}
		if before == nil {
			l.head = k.next
		} else {
			before.next = k.next
		}
		if l.tail == k {
			l.tail = before
		}
		k.next = nil
		return true
	}
	return false
}
