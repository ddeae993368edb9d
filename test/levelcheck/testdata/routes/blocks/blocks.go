// Package blocks breaks the rule blocks on every route that leads from Dispatch to a statement.
package blocks

import (
	"minisrp/routes/low"
	"minisrp/verbs/dispatch"
)

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*calls low\.Wait, which blocks`
	low.Wait()
}

func direct(f *dispatch.Frame) {
	low.Wait() // want `\[blocks\] at Dispatch: .*calls low\.Wait, which blocks`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*calls low\.Wait, which blocks`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*calls low\.Wait, which blocks`
	low.Wait()
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*calls low\.Wait, which blocks.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*calls low\.Wait, which blocks`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*calls low\.Wait, which blocks`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*calls low\.Wait, which blocks`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		low.Wait()
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at blocks.go:\d+, which blocks \(.*calls low\.Wait, which blocks`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		low.Wait() // want `\[blocks\] at Dispatch: .*calls low\.Wait, which blocks`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*calls low\.Wait, which blocks`
	low.Wait()
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*calls low\.Wait, which blocks`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*calls low\.Wait, which blocks`
	low.Wait()
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*calls low\.Wait, which blocks`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*calls low\.Wait, which blocks`
}
