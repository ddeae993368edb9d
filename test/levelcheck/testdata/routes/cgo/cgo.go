// Package cgo breaks the rule cgo on every route that leads from Dispatch to a statement.
package cgo

// static void idle(void) {}
import "C"

import (
	"minisrp/verbs/dispatch"
)

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*calls C\.idle`
	C.idle()
}

func direct(f *dispatch.Frame) {
	C.idle() // want `\[cgo\] at Dispatch: .*calls C\.idle`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*calls C\.idle`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*calls C\.idle`
	C.idle()
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*calls C\.idle.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*calls C\.idle`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*calls C\.idle`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*calls C\.idle`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		C.idle()
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at cgo.go:\d+, which blocks \(.*calls C\.idle`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		C.idle() // want `\[cgo\] at Dispatch: .*calls C\.idle`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*calls C\.idle`
	C.idle()
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*calls C\.idle`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*calls C\.idle`
	C.idle()
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*calls C\.idle`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*calls C\.idle`
}
