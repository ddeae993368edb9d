package dynamic

import (
	"iter"

	"minisrp/verbs/dispatch"
)

type store interface {
	Size() int

	// Marked is called at Dispatch.
	//
	//level:dispatch
	Marked() int // want Marked:"dispatch"

	Submit(f *dispatch.Frame)
}

//level:dispatch
type hook func() int // want hook:"dispatch"

type device struct {
	bare func()

	//level:dispatch noalloc
	marked func() // want marked:"dispatch noalloc"

	named hook
	done  func(f *dispatch.Frame, err error)
	table []func()
}

func calls(f *dispatch.Frame, s store, d *device, err error, param func(), seq iter.Seq[int]) {
	_ = s.Size() // want `\[dynamic\] at Dispatch: calls store.Size through an interface`
	_ = s.Marked()
	s.Submit(f)
	_ = err.Error() // want `\[dynamic\] at Dispatch: calls error.Error through an interface`
	d.bare()        // want `\[dynamic\] at Dispatch: calls the function value d.bare`
	d.marked()
	_ = d.named()
	d.done(f, nil)
	d.table[0]()    // want `\[dynamic\] at Dispatch: calls the function value d.table\[0\]`
	param()         // want `\[dynamic\] at Dispatch: calls the function value param`
	for range seq { // want `\[dynamic\] at Dispatch: ranges over a function`
	}
	changes := func() {}
	changes = param
	changes() // want `\[dynamic\] at Dispatch: calls the function value changes`
	method := s.Size
	_ = method() // want `\[dynamic\] at Dispatch: calls the function value method`
}

// A parameter that is set when it is nil has two values.
func defaults(f *dispatch.Frame, done func()) {
	if done == nil {
		done = func() {}
	}
	done() // want `\[dynamic\] at Dispatch: calls the function value done`
}

type linked[T any] interface {
	*T

	//level:dispatch
	next() **T // want next:"dispatch"
}

type unlinked interface{ next() int }

func generic[T any, P linked[T], U unlinked](f *dispatch.Frame, p P, u U) {
	_ = p.next()
	_ = u.next() // want `\[dynamic\] at Dispatch: calls unlinked.next through an interface`
}
