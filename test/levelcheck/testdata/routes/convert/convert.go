// Package convert breaks the rule convert with whatever can become what is called at Dispatch.
package convert

import "minisrp/verbs/dispatch"

var ch chan int

func breaks() { <-ch } // want breaks:"blocks"

//level:dispatch
type hook func() // want hook:"dispatch"

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

type object struct{}

func (object) Do() { <-ch } // want Do:"blocks"

func direct(f *dispatch.Frame) {
	_ = hook(breaks) // want `\[convert\] breaks blocks .* and becomes a function that is called at Dispatch`
}

func throughInterface(f *dispatch.Frame) {
	_ = doer(object{}) // want `\[convert\] object.Do blocks .* and implements doer.Do`
}

func throughValue(f *dispatch.Frame, unknown func()) {
	_ = hook(unknown) // want `\[convert\] unknown becomes a function that is called at Dispatch`
}

// What a variable holds that is assigned twice is not known; a literal is looked into where it stands.
func throughClosure(f *dispatch.Frame) {
	local := func() {}
	local = breaks
	_ = hook(local) // want `\[convert\] local becomes a function that is called at Dispatch`
}

func generic[T any]() { <-ch } // want generic:"blocks"

func throughGenericFunc(f *dispatch.Frame) {
	_ = hook(generic[int]) // want `\[convert\] generic blocks`
}

type box[T any] struct{}

func (box[T]) Do() { <-ch } // want Do:"blocks"

type bounded[T doer] struct{ v T }

func throughGenericType(f *dispatch.Frame) {
	_ = doer(box[int]{})    // want `\[convert\] box.Do blocks`
	_ = hook(box[int]{}.Do) // want `\[convert\] box.Do blocks`
	_ = bounded[object]{}   // want `\[convert\] object.Do blocks`
}
