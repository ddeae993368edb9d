// Package lock breaks the rule lock on every route that leads from Dispatch to a statement.
package lock

import (
	"sync"

	"minisrp/verbs/dispatch"
)

var mu sync.Mutex

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*sync\.Mutex\.Lock can wait`
	mu.Lock()
}

func direct(f *dispatch.Frame) {
	mu.Lock() // want `\[lock\] at Dispatch: .*sync\.Mutex\.Lock can wait`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*sync\.Mutex\.Lock can wait`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*sync\.Mutex\.Lock can wait`
	mu.Lock()
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*sync\.Mutex\.Lock can wait.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*sync\.Mutex\.Lock can wait`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*sync\.Mutex\.Lock can wait`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*sync\.Mutex\.Lock can wait`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		mu.Lock()
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at lock.go:\d+, which blocks \(.*sync\.Mutex\.Lock can wait`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		mu.Lock() // want `\[lock\] at Dispatch: .*sync\.Mutex\.Lock can wait`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*sync\.Mutex\.Lock can wait`
	mu.Lock()
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*sync\.Mutex\.Lock can wait`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*sync\.Mutex\.Lock can wait`
	mu.Lock()
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*sync\.Mutex\.Lock can wait`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*sync\.Mutex\.Lock can wait`
}
