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

// Two that call each other end, and neither blocks.
func even(n int) int {
	if n <= 0 {
		return 0
	}
	return odd(n - 1)
}

func odd(n int) int { return even(n - 1) }

// Two that call each other, and one of them blocks.
func ping(q *Queue, n int) { // want ping:`blocks: low.go:\d+: calls pong; low.go:\d+: receives`
	if n > 0 {
		pong(q, n-1)
	}
}

func pong(q *Queue, n int) { // want pong:`blocks: low.go:\d+: receives`
	ping(q, n)
	<-q.ch
}

func external(n int) int

func use(f *dispatch.Frame, q *Queue) {
	q.PushTwice(1) // want `\[blocks\] at Dispatch: calls Queue.PushTwice, which blocks \(low.go:\d+: calls Queue.Push; low.go:\d+: sends on a channel`
	q.TryPush(1)
	ping(q, 3)  // want `\[blocks\] at Dispatch: calls ping`
	external(1) // want `\[blocks\] at Dispatch: calls external, which has no body here`
	_ = q.Len()

	helper := func() { <-q.ch }
	helper() // want `\[blocks\] at Dispatch: calls the function literal at low.go:\d+, which blocks`
	compute := func(a int) int { return a + 1 }
	_ = compute(2)
	var walk func(int)
	walk = func(n int) {
		if n > 0 {
			walk(n - 1)
		}
	}
	walk(3)
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
