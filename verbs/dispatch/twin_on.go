//go:build leveltwin

package dispatch

import (
	"fmt"
	"math/bits"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Twin says whether the program asserts levels while it runs.
const Twin = true

// twinFrame is what a raised frame knows beside the rest.
type twinFrame struct {
	owner      uintptr       // the goroutine that raised it
	starting   [layers]uint8 // calls under way that start something
	completing [layers]uint8 // completions being told
}

func (f *Frame) twinEnter() {
	me := goroutine()
	if other := raisedBy(me); other != nil {
		panic(fmt.Sprintf("dispatch: %s, at Dispatch on %s, raised again, on %s", callers(2), other.p.name, f.p.name))
	}
	f.twin = twinFrame{owner: me}
	setRaised(me, f)
}

func (f *Frame) twinLeave() {
	f.Assert()
	setRaised(f.twin.owner, nil)
	f.twin.owner = 0
}

// AssertPassive asserts that the calling goroutine is not between Raise and Lower.
func AssertPassive() {
	if f := raisedBy(goroutine()); f != nil {
		panic(fmt.Sprintf("dispatch: the Passive function %s was reached at Dispatch, on %s", callers(1), f.p.name))
	}
}

// Assert asserts that f is raised, by the calling goroutine.
func (f *Frame) Assert() {
	switch {
	case f.p == nil:
		panic("dispatch: a frame that is not raised is used by " + callers(1))
	case f.twin.owner != goroutine():
		panic(fmt.Sprintf("dispatch: a frame that was raised on %s is used by another goroutine, in %s", f.p.name, callers(1)))
	}
}

// Starting and Started stand around the start of something in a layer: it must not complete between them.
func (f *Frame) Starting(l Layer) {
	f.Assert()
	f.twin.starting[l]++
}

// Started: see Starting.
func (f *Frame) Started(l Layer) { f.twin.starting[l]-- }

// Completing and Completed stand around a call that tells of a completion in a layer: none may be told within it.
func (f *Frame) Completing(l Layer) {
	f.Assert()
	switch {
	case f.twin.completing[l] != 0:
		panic(fmt.Sprintf("dispatch: a completion of %s within a completion, told by %s", l, callers(1)))
	case f.twin.starting[l] != 0:
		panic(fmt.Sprintf("dispatch: a completion of %s within the call that started it, told by %s", l, callers(1)))
	}
	f.twin.completing[l]++
}

// Completed: see Completing.
func (f *Frame) Completed(l Layer) { f.twin.completing[l]-- }

// callers names a function on the stack, skip above the caller of callers, and who called it.
func callers(skip int) string {
	pcs := make([]uintptr, 8)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2+skip, pcs)])
	first, _ := frames.Next()
	second, _ := frames.Next()
	return fmt.Sprintf("%s (called by %s, %s:%d)", short(first.Function), short(second.Function), filepath.Base(second.File), second.Line)
}

// short is a function's name without the directories of its package.
func short(function string) string { return function[strings.LastIndexByte(function, '/')+1:] }

// twinProcessor measures what a processor runs. Written by the owner.
type twinProcessor struct {
	took  [timesBuckets]atomic.Uint64
	worst atomic.Int64
	who   atomic.Pointer[string]
}

type twinSpan struct{ since time.Time }

func (p *Processor) twinBegin() twinSpan { return twinSpan{time.Now()} }

func (p *Processor) twinEnd(s twinSpan, r Runner) {
	if p.took(s) {
		name := runnerName(r)
		p.twin.who.Store(&name)
	}
}

func (p *Processor) twinEndTimer(s twinSpan, fn Func) {
	if p.took(s) {
		name := runnerName(fn)
		p.twin.who.Store(&name)
	}
}

// took counts what has ended, and reports whether nothing has taken longer.
func (p *Processor) took(s twinSpan) bool {
	d := max(0, time.Since(s.since))
	p.twin.took[min(bits.Len64(uint64(d)), timesBuckets-1)].Add(1)
	if int64(d) <= p.twin.worst.Load() {
		return false
	}
	p.twin.worst.Store(int64(d))
	return true
}

func runnerName(r Runner) string {
	v := reflect.ValueOf(r)
	if v.Kind() != reflect.Func {
		return v.Type().String()
	}
	return strings.TrimSuffix(short(runtime.FuncForPC(v.Pointer()).Name()), "-fm")
}

// Times returns how long what the processor ran has taken.
func (p *Processor) Times() Times {
	t := Times{Worst: time.Duration(p.twin.worst.Load())}
	for i := range t.Took {
		t.Took[i] = p.twin.took[i].Load()
	}
	if who := p.twin.who.Load(); who != nil {
		t.Who = *who
	}
	return t
}

// Mutex is a sync.Mutex with a rank. It must not be waited for at Dispatch, nor by who holds one of its rank or above.
type Mutex[R Rank] struct{ sync.Mutex }

// Lock is sync.Mutex's.
func (m *Mutex[R]) Lock() {
	var rank R
	AssertPassive()
	g := recordOf(goroutine())
	g.mustRank(rank.Rank())
	m.Mutex.Lock()
	g.held(rank.Rank(), 1)
}

// TryLock is sync.Mutex's.
func (m *Mutex[R]) TryLock() bool {
	var rank R
	ok := m.Mutex.TryLock()
	if ok {
		recordOf(goroutine()).held(rank.Rank(), 1)
	}
	return ok
}

// Unlock is sync.Mutex's.
func (m *Mutex[R]) Unlock() {
	var rank R
	recordOf(goroutine()).held(rank.Rank(), -1)
	m.Mutex.Unlock()
}
