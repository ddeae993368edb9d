// Package flows carries function values to where they are called at Dispatch, on ways that hide what they are.
package flows

import "minisrp/verbs/dispatch"

var ch chan int

func blocks() { <-ch } // want blocks:"blocks"

//level:dispatch
type hook func() // want hook:"dispatch"

type device struct {
	//level:dispatch
	idle func() // want idle:"dispatch"

	hook hook
}

type unmarked struct {
	idle func()
	hook hook
}

// A copy of a struct keeps its marks; another type of the same fields has its own.
func structs(f *dispatch.Frame, d device, u unmarked) {
	e := d
	e.idle()
	d = device(u) // want `\[convert\] a function of unknown level becomes one that is called at Dispatch`
	u = unmarked(d)
	u.idle() // want `\[dynamic\] at Dispatch: calls the function value u.idle`
	u.hook()
}

func containers(f *dispatch.Frame, named chan hook, table map[string]hook, list []hook, bare []func()) {
	table["a"]()
	list[0]()
	for _, h := range list {
		h()
	}
	for _, fn := range bare {
		fn() // want `\[dynamic\] at Dispatch: calls the function value fn`
	}
	select {
	case h := <-named:
		h()
	default:
	}
}

func fills(named chan hook, bare chan func(), table map[string]hook, d *device, list []func()) { // want fills:"blocks"
	named <- blocks                  // want `\[convert\] blocks blocks`
	named <- <-bare                  // want `\[convert\] <-bare becomes a function that is called at Dispatch`
	table["a"] = blocks              // want `\[convert\] blocks blocks`
	_ = map[string]hook{"a": blocks} // want `\[convert\] blocks blocks`
	_ = []hook{2: blocks}            // want `\[convert\] blocks blocks`
	_ = append([]hook{}, blocks)     // want `\[convert\] blocks blocks`
	for _, d.idle = range list {     // want `\[convert\] a function of unknown level becomes one that is called at Dispatch`
	}
	d.idle, d.hook = list[0], blocks // want `\[convert\] list\[0\] becomes` `\[convert\] blocks blocks`
}

func returns() hook { return blocks } // want `\[convert\] blocks blocks`

// Through the address of a field anything can be put in.
func address(d *device) {
	p := &d.idle // want `\[convert\] the address of d.idle is taken, which is called at Dispatch`
	*p = blocks
	q := &d.hook // its type says the level
	*q = blocks  // want `\[convert\] blocks blocks`
}

func turns[T ~func()](fn func()) T {
	return T(fn) // want `\[convert\] a function becomes one of a type that is not known here`
}

func keeps[T ~func()](fn T) T { return fn }

func generics(f *dispatch.Frame, fn func()) {
	keeps(hook(fn))() // want `\[convert\] fn becomes a function that is called at Dispatch`
	turns[hook](fn)()
	keeps(fn)() // want `\[dynamic\] at Dispatch: calls the function value keeps\(fn\)`
}

type queue[T any] struct {
	//level:dispatch
	each func(T) // want each:"dispatch"
}

func wait(int) { <-ch } // want wait:"blocks"

func fields(f *dispatch.Frame, q *queue[int]) {
	q.each(1)
	q.each = wait // want `\[convert\] wait blocks`
}

type marked interface {
	//level:dispatch
	Ready() bool // want Ready:"dispatch"
}

type wide interface {
	marked
	Size() int
}

type ready struct{}

func (ready) Ready() bool { return <-ch > 0 } // want Ready:"blocks"
func (ready) Size() int   { return 0 }

// An interface that is embedded keeps its marks, in an interface and in a struct.
type holder struct{ wide }

func embedded(f *dispatch.Frame, w wide, h holder) {
	w.Ready()
	h.Ready()
	_ = w.Size() // want `\[dynamic\] at Dispatch: calls wide.Size through an interface`
	_ = h.Size() // want `\[dynamic\] at Dispatch: calls wide.Size through an interface`
	var m marked = h
	m.Ready()
	m = ready{} // want `\[convert\] ready.Ready blocks`
}

func methods(f *dispatch.Frame, w wide, r ready) {
	call := w.Ready
	call()         // want `\[dynamic\] at Dispatch: calls the function value call`
	ready.Size(r)  // a method expression is the method
	ready.Ready(r) // want `\[blocks\] at Dispatch: calls ready.Ready`
	expr := ready.Ready
	expr(r) // want `\[dynamic\] at Dispatch: calls the function value expr`
}
