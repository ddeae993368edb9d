package dispatch

import "sync/atomic"

// linked is an item that carries its own link.
type linked[T any] interface {
	*T
	nextLink() **T
}

// stack is a lock-free multi-producer queue with one consumer at a time. Pushes
// go on a stack; the consumer takes the whole stack and turns it over, which
// gives first in, first out within and across takes. As nothing is ever popped
// singly, the head can change under a push only by another push or a take, and a
// compare-and-swap that succeeds is right whatever happened in between.
type stack[T any, P linked[T]] struct {
	head atomic.Pointer[T]
}

func (s *stack[T, P]) empty() bool { return s.head.Load() == nil }

// push adds n and reports whether the stack was empty.
func (s *stack[T, P]) push(n P) bool {
	for {
		old := s.head.Load()
		*n.nextLink() = old
		if s.head.CompareAndSwap(old, (*T)(n)) {
			return old == nil
		}
	}
}

// take removes everything and returns it in the order of the pushes.
func (s *stack[T, P]) take() (head, tail P) {
	n := P(s.head.Swap(nil))
	tail = n
	for n != nil {
		next := P(*n.nextLink())
		*n.nextLink() = (*T)(head)
		head, n = n, next
	}
	return head, tail
}
