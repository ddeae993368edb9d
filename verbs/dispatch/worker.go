package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// WorkFunc runs at Passive on a goroutine of a Worker. ctx ends when the worker is
// closed.
//
//level:passive
type WorkFunc func(ctx context.Context)

// RunWork calls fn.
func (fn WorkFunc) RunWork(ctx context.Context) { fn(ctx) }

// WorkRunner is an object that is its own item of work.
type WorkRunner interface {
	// RunWork runs on a goroutine of the worker.
	RunWork(ctx context.Context)
}

// Work is a call that needs thread context, left by code that may not wait.
//
// Ownership: part of the object that it serves; referenced by the worker while
// queued. Within its function it may be queued again.
type Work struct {
	next   *Work
	queued atomic.Bool
	r      WorkRunner
}

// Init sets the function. It is called once, before the first Queue.
func (w *Work) Init(fn WorkFunc) { w.r = fn }

// InitRunner is Init with an object in place of a function.
func (w *Work) InitRunner(r WorkRunner) { w.r = r }

// Link is where the queue keeps its link.
func (w *Work) Link() **Work { return &w.next }

// Worker runs Work on goroutines of its own. One of them waits for items whenever fewer than the most run: who takes an
// item while nobody else waits starts another goroutine first. Those that nobody has needed for lingerTime end, but one.
//
// Ownership: NewWorker starts a goroutine, Close ends all and waits.
type Worker struct {
	incoming Stack[Work, *Work]
	wake     chan struct{} // capacity: one for each goroutine
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu      Mutex[RankWorker] // guards the rest; taken at Passive only
	ready   struct{ head, tail *Work }
	most    int // goroutines
	running int // goroutines that there are
	waiting int // those of them that have nothing to do
}

// NewWorker makes a worker of n goroutines at most (1 or more), which are there when they are needed. Items are begun in
// the order they were queued; with n = 1 they also end in it.
func NewWorker(n int) *Worker {
	w := &Worker{wake: make(chan struct{}, n), most: n, running: 1}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.wg.Go(w.loop)
	return w
}

// NewManualWorker makes a worker without goroutines, for tests: RunOne drives it.
func NewManualWorker() *Worker {
	w := &Worker{wake: make(chan struct{}, 1)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// RunOne runs the oldest item of a manual worker, on the caller's goroutine, and
// reports whether there was one.
//
//level:passive
func (w *Worker) RunOne() bool {
	k := w.pop()
	if k == nil {
		return false
	}
	k.queued.Store(false)
	k.r.RunWork(w.ctx)
	return true
}

// Idle reports whether nothing is queued.
//
//level:passive
func (w *Worker) Idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.incoming.Empty() && w.ready.head == nil
}

// Queue leaves an item for the worker and reports whether it was not queued
// already. It does not wait and may be called at both levels.
//
//level:dispatch noalloc
func (w *Worker) Queue(k *Work) bool {
	if !k.queued.CompareAndSwap(false, true) {
		return false
	}
	w.incoming.Push(k)
	w.wakeOne()
	return true
}

func (w *Worker) wakeOne() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close runs what is queued, ends the goroutines and waits for them. Nothing may
// be queued from outside the worker's own items after it.
//
//level:passive
func (w *Worker) Close() {
	AssertPassive()
	w.cancel()
	w.wg.Wait()
}

func (w *Worker) loop() {
	var linger *time.Timer // of one that may end before Close
	if w.most > 1 {
		linger = time.NewTimer(lingerTime)
		defer linger.Stop()
	}
	for closing := false; ; {
		for k := w.pop(); k != nil; k = w.pop() {
			k.queued.Store(false)
			k.r.RunWork(w.ctx)
		}
		if closing {
			return
		}
		if linger != nil {
			linger.Reset(lingerTime)
		}
		var needless bool
		if closing, needless = w.wait(linger); needless {
			return
		}
	}
}

// wait waits for an item. It reports that the worker is being closed, or that others are there to wait.
func (w *Worker) wait(linger *time.Timer) (closing, needless bool) {
	w.addWaiting(1)
	var over <-chan time.Time
	if linger != nil {
		over = linger.C
	}
	for {
		select {
		case <-w.wake:
			w.addWaiting(-1)
			return false, false
		case <-w.ctx.Done():
			w.addWaiting(-1)
			return true, false
		case <-over:
			if w.spare() {
				return false, true
			}
			over = nil // the last one stays
		}
	}
}

func (w *Worker) addWaiting(n int) {
	w.mu.Lock()
	w.waiting += n
	w.mu.Unlock()
}

// spare lets one that waits go, if there is another.
func (w *Worker) spare() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting < 2 {
		return false
	}
	w.waiting--
	w.running--
	return true
}

// pop returns the oldest item. It sees to it that somebody waits for the next one, or takes what is left.
func (w *Worker) pop() *Work {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.incoming.Empty() {
		h, t := w.incoming.Take()
		if w.ready.tail == nil {
			w.ready.head = h
		} else {
			w.ready.tail.next = h
		}
		w.ready.tail = t
	}
	k := w.ready.head
	if k == nil {
		return nil
	}
	if w.ready.head = k.next; w.ready.head == nil {
		w.ready.tail = nil
	}
	k.next = nil
	switch {
	case w.waiting == 0 && w.running < w.most:
		w.running++
		w.wg.Go(w.loop)
	case w.ready.head != nil:
		w.wakeOne()
	}
	return k
}
