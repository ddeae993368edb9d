// Package passive breaks the rule passive on every route that leads from Dispatch to a statement.
package passive

import (
	"minisrp/verbs/dispatch"
)

// wait blocks.
//
//level:passive
func wait() {} // want wait:"passive"

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*calls wait, which is passive`
	wait()
}

func direct(f *dispatch.Frame) {
	wait() // want `\[passive\] at Dispatch: .*calls wait, which is passive`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*calls wait, which is passive`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*calls wait, which is passive`
	wait()
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*calls wait, which is passive.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*calls wait, which is passive`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*calls wait, which is passive`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*calls wait, which is passive`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		wait()
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at passive.go:\d+, which blocks \(.*calls wait, which is passive`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		wait() // want `\[passive\] at Dispatch: .*calls wait, which is passive`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*calls wait, which is passive`
	wait()
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*calls wait, which is passive`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*calls wait, which is passive`
	wait()
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*calls wait, which is passive`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*calls wait, which is passive`
}
