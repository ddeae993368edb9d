//go:build !leveltwin

package dispatch

import "sync"

// Twin says whether the program asserts levels while it runs.
const Twin = false

// AssertPassive asserts that the calling goroutine is not between Raise and Lower.
func AssertPassive() {}

// Assert asserts that f is raised, by the calling goroutine.
func (f *Frame) Assert() {}

// Starting and Started stand around the start of something in a layer: it must not complete between them.
func (f *Frame) Starting(Layer) {}

// Started: see Starting.
func (f *Frame) Started(Layer) {}

// Completing and Completed stand around a call that tells of a completion in a layer: none may be told within it.
func (f *Frame) Completing(Layer) {}

// Completed: see Completing.
func (f *Frame) Completed(Layer) {}

// Times returns how long what the processor ran has taken.
func (p *Processor) Times() Times { return Times{} }

// Mutex is a sync.Mutex with a rank.
type Mutex[R Rank] struct{ sync.Mutex }

type (
	twinFrame     struct{}
	twinProcessor struct{}
	twinSpan      struct{}
)

func (f *Frame) twinEnter() {}
func (f *Frame) twinLeave() {}

func (p *Processor) twinBegin() twinSpan         { return twinSpan{} }
func (p *Processor) twinEnd(twinSpan, Runner)    {}
func (p *Processor) twinEndTimer(twinSpan, Func) {}
