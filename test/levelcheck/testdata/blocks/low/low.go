package low

import (
	"fmt"

	"minisrp/verbs/dispatch"
)

type Queue struct {
	ch   chan int
	name string
	n    int
}

func (q *Queue) Push(v int) { // want Push:`blocks: low.go:\d+: sends on a channel`
	q.ch <- v
}

func (q *Queue) PushTwice(v int) { // want PushTwice:`blocks: low.go:\d+: calls Queue.Push; low.go:\d+: sends on a channel`
	q.Push(v)
	q.Push(v)
}

// String is fine for logs, and not for Dispatch.
func (q *Queue) String() string { // want String:`blocks: low.go:\d+: calls fmt.Sprint`
	return fmt.Sprint(q.name)
}

func (q *Queue) TryPush(v int) bool {
	select {
	case q.ch <- v:
		return true
	default:
		return false
	}
}

func (q *Queue) Len() int { return q.len() }

func (q *Queue) len() int { return len(q.ch) + even(q.n) }

func even(n int) int { return n &^ 1 }

func external(n int) int

func use(f *dispatch.Frame, q *Queue) {
	q.PushTwice(1) // want `\[blocks\] at Dispatch: calls Queue.PushTwice, which blocks \(low.go:\d+: calls Queue.Push; low.go:\d+: sends on a channel`
	q.TryPush(1)
	external(1) // want `\[blocks\] at Dispatch: calls external, which has no body here`
	_ = q.Len()

	helper := func() { <-q.ch }
	helper() // want `\[blocks\] at Dispatch: calls the function literal at low.go:\d+, which blocks`
	compute := func(a int) int { return a + 1 }
	_ = compute(2)
}

func First[T any](ch chan T) T { // want First:`blocks: low.go:\d+: receives`
	return <-ch
}

func Sum[T int | uint](s []T) (n T) {
	for _, v := range s {
		n += v
	}
	return n
}
