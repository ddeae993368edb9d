// Package gostmt breaks the rule go on every route that leads from Dispatch to a statement.
package gostmt

import (
	"minisrp/verbs/dispatch"
)

func work() {}

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*starts a goroutine`
	go work()
}

func direct(f *dispatch.Frame) {
	go work() // want `\[go\] at Dispatch: .*starts a goroutine`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*starts a goroutine`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*starts a goroutine`
	go work()
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*starts a goroutine.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*starts a goroutine`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*starts a goroutine`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*starts a goroutine`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		go work()
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at gostmt.go:\d+, which blocks \(.*starts a goroutine`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		go work() // want `\[go\] at Dispatch: .*starts a goroutine`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*starts a goroutine`
	go work()
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*starts a goroutine`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*starts a goroutine`
	go work()
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*starts a goroutine`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*starts a goroutine`
}
