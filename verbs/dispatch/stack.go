package dispatch

import "sync/atomic"

// Linked is an item that carries its own link.
type Linked[T any] interface {
	*T

	// Link returns where the item keeps its link.
	//
	//level:dispatch noalloc
	Link() **T
}

// Stack is a lock-free multi-producer queue with one consumer at a time. Pushes
// go on a stack; the consumer takes the whole stack and turns it over, which
// gives first in, first out within and across takes. As nothing is ever popped
// singly, the head can change under a push only by another push or a take, and a
// compare-and-swap that succeeds is right whatever happened in between.
type Stack[T any, P Linked[T]] struct {
	head atomic.Pointer[T]
}

// Empty reports whether nothing is queued at this moment.
func (s *Stack[T, P]) Empty() bool { return s.head.Load() == nil }

// Push adds n and reports whether the stack was empty.
//
//level:dispatch noalloc
func (s *Stack[T, P]) Push(n P) bool {
	for {
		old := s.head.Load()
		*n.Link() = old
		if s.head.CompareAndSwap(old, (*T)(n)) {
			return old == nil
		}
	}
}

// Take removes everything and returns it in the order of the pushes.
//
//level:dispatch noalloc
func (s *Stack[T, P]) Take() (head, tail P) {
	n := P(s.head.Swap(nil))
	tail = n
	for n != nil {
		next := P(*n.Link())
		*n.Link() = (*T)(head)
		head, n = n, next
	}
	return head, tail
}
