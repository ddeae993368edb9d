// Package raise breaks the rule raise on every route that leads from Dispatch to a statement.
package raise

import (
	"minisrp/verbs/dispatch"
)

var (
	p     *dispatch.Processor
	frame dispatch.Frame
)

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*raises although`
	p.Raise(&frame)
	frame.Lower()
}

func direct(f *dispatch.Frame) {
	p.Raise(&frame) // want `\[raise\] at Dispatch: .*raises although`
	frame.Lower()   // want `\[raise\] at Dispatch: lowers`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*raises although`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*raises although`
	p.Raise(&frame)
	frame.Lower()
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*raises although.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*raises although`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*raises although`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*raises although`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		p.Raise(&frame)
		frame.Lower()
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at raise.go:\d+, which blocks \(.*raises although`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		p.Raise(&frame) // want `\[raise\] at Dispatch: .*raises although`
		frame.Lower()   // want `\[raise\] at Dispatch: lowers`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*raises although`
	p.Raise(&frame)
	frame.Lower()
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*raises although`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*raises although`
	p.Raise(&frame)
	frame.Lower()
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*raises although`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*raises although`
}
