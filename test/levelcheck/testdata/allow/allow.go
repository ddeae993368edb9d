package allow

import (
	"sync"

	"minisrp/verbs/dispatch"
)

type queue struct {
	mu sync.Mutex
	ch chan int
}

func (q *queue) used(f *dispatch.Frame) {
	//level:allow lock: held for a few instructions by one other function
	q.mu.Lock()
	//level:allow channel: has room for all
	//level:allow blocks: the same
	q.ch <- q.size()
}

func (q *queue) size() int { return len(<-wrap(q)) } // want size:"blocks"

func wrap(q *queue) chan []int { return nil }

// computing would block, but for the exemption.
func (q *queue) computing() {
	//level:allow channel: has room for all
	q.ch <- 1
}

func (q *queue) calls(f *dispatch.Frame) { q.computing() }

func (q *queue) forms(f *dispatch.Frame) {
	//level:allow lock: // want `\[allow\] the exemption gives no reason`
	q.mu.Lock() // want `\[lock\]`
	//level:allow locks: a reason // want `\[allow\] no rule is called "locks"`
	q.mu.Lock() // want `\[lock\]`
	//level:allow lock // want `\[allow\] an exemption reads`
	q.mu.Lock() // want `\[lock\]`
	//level:allow mark: a reason // want `\[allow\] no rule is called "mark"`
	q.mu.Lock() //level:allow lock: a reason // want `\[allow\] the exemption stands behind code` `\[lock\]`
	//level:allow channel: a reason // want `\[allow\] the exemption from channel is not needed`
	q.mu.Unlock()
	//level:allow lock: a reason // want `\[allow\] the exemption from lock is not needed`

	q.mu.Lock() // want `\[lock\]`
}

//level:allow lock: a whole function is not exempt // want `\[allow\] the exemption from lock is not needed`
func (q *queue) whole(f *dispatch.Frame) {
	q.mu.Lock() // want `\[lock\]`
}

// Passive code needs none.
//
//level:passive
func (q *queue) passive() { // want passive:"passive"
	//level:allow lock: a reason // want `\[allow\] the exemption from lock is not needed`
	q.mu.Lock()
}

func (q *queue) StartIO(f *dispatch.Frame) {
	//level:allow lock: a reason // want `\[allow\] StartIO is the data path, where no exemption stands`
	q.mu.Lock() // want `\[lock\]`
}

// What the data path calls is of the data path.
func (q *queue) handleRSP(f *dispatch.Frame) { q.helps(f) }

func (q *queue) helps(f *dispatch.Frame) {
	//level:allow lock: a reason // want `\[allow\] queue.helps is called by handleRSP, which is the data path`
	q.mu.Lock()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func converts(f func()) {
	//level:allow convert: the caller promises
	var h hook = f
	_ = h
}
