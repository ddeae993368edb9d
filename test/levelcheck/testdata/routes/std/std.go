// Package std breaks the rule std on every route that leads from Dispatch to a statement.
package std

import (
	"fmt"

	"minisrp/verbs/dispatch"
)

// breaks is what the routes lead to.
func breaks() { // want breaks:`blocks: .*calls fmt\.Println`
	fmt.Println()
}

func direct(f *dispatch.Frame) {
	fmt.Println() // want `\[std\] at Dispatch: .*calls fmt\.Println`
}

func call(f *dispatch.Frame) {
	breaks() // want `\[blocks\] at Dispatch: calls breaks, which blocks \(.*calls fmt\.Println`
}

type object struct{}

func (object) Do() { // want Do:`blocks: .*calls fmt\.Println`
	fmt.Println()
}

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

func throughInterface(f *dispatch.Frame) {
	var d doer = object{} // want `\[convert\] object.Do blocks \(.*calls fmt\.Println.* implements doer.Do`
	d.Do()
}

type outer struct{ object }

// The method of an embedded object is the outer one's.
func throughInterfaceEmbedded(f *dispatch.Frame) {
	var d doer = outer{} // want `\[convert\] object.Do blocks \(.*calls fmt\.Println`
	d.Do()
}

//level:dispatch
type hook func() // want hook:"dispatch"

func throughValue(f *dispatch.Frame) {
	var h hook = breaks // want `\[convert\] breaks blocks \(.*calls fmt\.Println`
	h()
}

func throughValueOfMethod(f *dispatch.Frame) {
	h := hook(object{}.Do) // want `\[convert\] object.Do blocks \(.*calls fmt\.Println`
	h()
}

func throughClosure(f *dispatch.Frame) {
	local := func() {
		fmt.Println()
	}
	local() // want `\[blocks\] at Dispatch: calls the function literal at std.go:\d+, which blocks \(.*calls fmt\.Println`
}

func throughClosureOfType(f *dispatch.Frame) {
	var h hook = func() {
		fmt.Println() // want `\[std\] at Dispatch: .*calls fmt\.Println`
	}
	h()
}

func generic[T any](v T) T { // want generic:`blocks: .*calls fmt\.Println`
	fmt.Println()
	return v
}

func throughGenericFunc(f *dispatch.Frame) {
	generic(1) // want `\[blocks\] at Dispatch: calls generic, which blocks \(.*calls fmt\.Println`
}

type box[T any] struct{ v T }

func (b *box[T]) do() { // want do:`blocks: .*calls fmt\.Println`
	fmt.Println()
}

func throughGenericType(f *dispatch.Frame, b *box[int]) {
	b.do() // want `\[blocks\] at Dispatch: calls box.do, which blocks \(.*calls fmt\.Println`
}

func constrained[T doer](f *dispatch.Frame, v T) { v.Do() }

func throughGenericConstraint(f *dispatch.Frame) {
	constrained(f, object{}) // want `\[convert\] object.Do blocks \(.*calls fmt\.Println`
}
