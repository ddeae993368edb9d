// Package deferred breaks the rule defer on every route that leads from Dispatch to a statement.
package deferred

import (
	"minisrp/verbs/dispatch"
)

func work() {}

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*defers in a loop`
	for range 2 {
		defer work()
	}
}

func direct(f *dispatch.Frame) {
	for range 2 {
		defer work() // want `\[defer\] at Dispatch: .*defers in a loop`
	}
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*defers in a loop`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*defers in a loop`
	for range 2 {
		defer work()
	}
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*defers in a loop.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*defers in a loop`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*defers in a loop`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*defers in a loop`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		for range 2 {
			defer work()
		}
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at deferred.go:\d+, which blocks \(.*defers in a loop`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		for range 2 {
			defer work() // want `\[defer\] at Dispatch: .*defers in a loop`
		}
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*defers in a loop`
	for range 2 {
		defer work()
	}
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*defers in a loop`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*defers in a loop`
	for range 2 {
		defer work()
	}
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*defers in a loop`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*defers in a loop`
}
