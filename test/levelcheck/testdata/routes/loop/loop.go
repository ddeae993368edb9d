// Package loop breaks the rule loop on every route that leads from Dispatch to a statement.
package loop

import (
	"sync/atomic"

	"minisrp/verbs/dispatch"
)

var flag atomic.Uint32

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*loops, and not`
	for flag.Load() == 0 {
	}
}

func direct(f *dispatch.Frame) {
	for flag.Load() == 0 { // want `\[loop\] at Dispatch: .*loops, and not`
	}
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*loops, and not`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*loops, and not`
	for flag.Load() == 0 {
	}
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*loops, and not.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*loops, and not`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*loops, and not`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*loops, and not`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		for flag.Load() == 0 {
		}
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at loop.go:\d+, which blocks \(.*loops, and not`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		for flag.Load() == 0 { // want `\[loop\] at Dispatch: .*loops, and not`
		}
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*loops, and not`
	for flag.Load() == 0 {
	}
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*loops, and not`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*loops, and not`
	for flag.Load() == 0 {
	}
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*loops, and not`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*loops, and not`
}
