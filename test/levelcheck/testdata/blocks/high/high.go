package high

import (
	"minisrp/blocks/low"
	"minisrp/verbs/dispatch"
)

func use(f *dispatch.Frame, q *low.Queue, ch chan int) {
	q.PushTwice(1)    // want `\[blocks\] at Dispatch: calls low.Queue.PushTwice, which blocks \(low.go:\d+: calls Queue.Push`
	_ = q.String()    // want `\[blocks\] at Dispatch: calls low.Queue.String, which blocks`
	_ = low.First(ch) // want `\[blocks\] at Dispatch: calls low.First, which blocks`
	_ = low.Sum([]int{1})
	q.TryPush(1)
	_ = q.Len()
	between(q) // want `\[blocks\] at Dispatch: calls between, which blocks \(high.go:\d+: calls low.Queue.Push, which blocks`
}

func between(q *low.Queue) { // want between:`blocks`
	q.Push(1)
}
