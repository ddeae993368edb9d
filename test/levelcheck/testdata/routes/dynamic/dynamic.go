// Package dynamic breaks the rule dynamic on every route that leads from Dispatch to a statement.
package dynamic

import (
	"minisrp/verbs/dispatch"
)

var fn func()

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*calls the function value fn`
	fn()
}

func direct(f *dispatch.Frame) {
	fn() // want `\[dynamic\] at Dispatch: .*calls the function value fn`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*calls the function value fn`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*calls the function value fn`
	fn()
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*calls the function value fn.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*calls the function value fn`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*calls the function value fn`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*calls the function value fn`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		fn()
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at dynamic.go:\d+, which blocks \(.*calls the function value fn`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		fn() // want `\[dynamic\] at Dispatch: .*calls the function value fn`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*calls the function value fn`
	fn()
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*calls the function value fn`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*calls the function value fn`
	fn()
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*calls the function value fn`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*calls the function value fn`
}
