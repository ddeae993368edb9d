// Package sleep breaks the rule sleep on every route that leads from Dispatch to a statement.
package sleep

import (
	"time"

	"minisrp/verbs/dispatch"
)

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*time\.Sleep`
	time.Sleep(1)
}

func direct(f *dispatch.Frame) {
	time.Sleep(1) // want `\[sleep\] at Dispatch: .*time\.Sleep`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*time\.Sleep`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*time\.Sleep`
	time.Sleep(1)
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*time\.Sleep.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*time\.Sleep`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*time\.Sleep`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*time\.Sleep`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		time.Sleep(1)
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at sleep.go:\d+, which blocks \(.*time\.Sleep`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		time.Sleep(1) // want `\[sleep\] at Dispatch: .*time\.Sleep`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*time\.Sleep`
	time.Sleep(1)
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*time\.Sleep`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*time\.Sleep`
	time.Sleep(1)
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*time\.Sleep`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*time\.Sleep`
}
