// Package pool breaks the rule pool on every route that leads from Dispatch to a statement.
package pool

import (
	"sync"

	"minisrp/verbs/dispatch"
)

var pool sync.Pool

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*uses a sync\.Pool`
	pool.Get()
}

func direct(f *dispatch.Frame) {
	pool.Get() // want `\[pool\] at Dispatch: .*uses a sync\.Pool`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*uses a sync\.Pool`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*uses a sync\.Pool`
	pool.Get()
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*uses a sync\.Pool.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*uses a sync\.Pool`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*uses a sync\.Pool`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*uses a sync\.Pool`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		pool.Get()
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at pool.go:\d+, which blocks \(.*uses a sync\.Pool`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		pool.Get() // want `\[pool\] at Dispatch: .*uses a sync\.Pool`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*uses a sync\.Pool`
	pool.Get()
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*uses a sync\.Pool`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*uses a sync\.Pool`
	pool.Get()
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*uses a sync\.Pool`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*uses a sync\.Pool`
}
