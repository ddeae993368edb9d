// Package channel breaks the rule channel on every route that leads from Dispatch to a statement.
package channel

import (
	"minisrp/verbs/dispatch"
)

var ch chan int

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*sends on a channel`
	ch <- 1
}

func direct(f *dispatch.Frame) {
	ch <- 1 // want `\[channel\] at Dispatch: .*sends on a channel`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*sends on a channel`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*sends on a channel`
	ch <- 1
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*sends on a channel.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*sends on a channel`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*sends on a channel`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*sends on a channel`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		ch <- 1
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at channel.go:\d+, which blocks \(.*sends on a channel`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		ch <- 1 // want `\[channel\] at Dispatch: .*sends on a channel`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*sends on a channel`
	ch <- 1
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*sends on a channel`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*sends on a channel`
	ch <- 1
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*sends on a channel`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*sends on a channel`
}
