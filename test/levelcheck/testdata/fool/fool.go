// Package fool tries to get past the checker: each function is a way that was open once.
package fool

import (
	"iter"
	"unicode/utf8"

	"minisrp/verbs/dispatch"
)

var ch chan int

func blocks() { <-ch } // want blocks:"blocks"

//level:dispatch
type hook func() // want hook:"dispatch"

type device struct {
	//level:dispatch
	idle func() // want idle:"dispatch"
}

type unmarked struct{ idle func() }

type doer interface {
	//level:dispatch
	Do() // want Do:"dispatch"
}

type plain interface{ Do() }

type object struct{}

func (object) Do() { <-ch } // want Do:"blocks"

// A case waits for one operation, and those beside it have to end first.
func beside(f *dispatch.Frame, slots []int, other chan int) {
	select {
	case slots[<-other] = <-ch: // want `\[channel\] at Dispatch: receives from a channel`
	default:
	}
	select {
	case ch <- <-other: // want `\[channel\] at Dispatch: receives from a channel`
	case v := <-choose(<-other): // want `\[channel\] at Dispatch: receives from a channel`
		_ = v
	default:
	}
}

func choose(int) chan int { return ch }

// A type parameter may stand for a channel or a function.
func parameters[C ~chan int, S ~func(yield func(int) bool), E chan int | chan<- int](f *dispatch.Frame, c C, s S, e E) {
	for range c { // want `\[channel\] at Dispatch: ranges over a channel`
	}
	for range s { // want `\[dynamic\] at Dispatch: ranges over a function`
	}
	e <- 1 // want `\[channel\] at Dispatch: sends on a channel`
}

// What becomes the key of a map comes out of it again.
func keys(m map[doer]int) {
	m[object{}] = 1                // want `\[convert\] object.Do blocks`
	_ = map[doer]int{object{}: 1}  // want `\[convert\] object.Do blocks`
	_ = map[doer]hook{nil: blocks} // want `\[convert\] blocks blocks`
}

func iterates(d *device, seq iter.Seq[func()], pair iter.Seq2[int, func()], list *[2]func()) { // want iterates:`blocks: .*ranges over a function`
	for d.idle = range seq { // want `\[convert\] a function of unknown level`
	}
	for _, d.idle = range pair { // want `\[convert\] a function of unknown level`
	}
	for _, d.idle = range list { // want `\[convert\] a function of unknown level`
	}
}

// The same memory under two types.
func pointers(fn *func(), h *hook, u *unmarked, p *plain, d *doer) {
	_ = (*hook)(fn)    // want `\[convert\] a function of unknown level`
	_ = (*func())(h)   // want `\[convert\] a function of unknown level`
	_ = (*device)(u)   // want `\[convert\] a function of unknown level`
	_ = (*doer)(p)     // want `\[convert\] plain.Do bears no mark`
	_ = (*plain)(d)    // want `\[convert\] plain.Do bears no mark`
	_ = (*unmarked)(u) // the same type
}

// A method may change the function that it is called on.
type changing func()

func (c *changing) change() { *c = blocks }

func changes(f *dispatch.Frame) {
	var fn changing = func() {}
	fn.change()
	fn() // want `\[dynamic\] at Dispatch: calls the function value fn`
	same := func() {}
	same()
}

// A mark on a type without a name would be lost where another of the same form is assigned.
var nameless struct {
	//level:dispatch // want `\[mark\] the mark belongs to no declaration`
	idle func()
}

func namelessInterface(d interface { // want namelessInterface:`blocks`
	//level:dispatch // want `\[mark\] the mark belongs to no declaration`
	Do()
}) {
	d.Do()
}

//level:dispatch
func elsewhere() // want elsewhere:"dispatch" `\[mark\] elsewhere has no body here`

func elsewhereByFrame(f *dispatch.Frame) // want `\[mark\] elsewhereByFrame has no body here`

//level:passive // want `\[mark\] marked passive, but takes a \*dispatch.Frame first`
func pretends(f *dispatch.Frame) {
	<-ch // want `\[channel\] at Dispatch`
}

// Not everything in a package of arithmetic is.
func grows(f *dispatch.Frame, b []byte) []byte {
	return utf8.AppendRune(b, 'x') // want `\[std\] at Dispatch: calls unicode/utf8.AppendRune`
}

// Deferred calls, and calls of what is received, are calls.
func deferred(f *dispatch.Frame, fns chan hook, bare []func()) {
	defer blocks() // want `\[blocks\] at Dispatch: calls blocks`
	defer func() {
		recover()
		blocks() // want `\[blocks\] at Dispatch: calls blocks`
	}()
	select {
	case fn := <-fns:
		defer fn()
	default:
	}
	defer bare[0]() // want `\[dynamic\] at Dispatch: calls the function value bare\[0\]`
}

// So are those of a method that is a value, of a field of a field, and through a pointer.
type inner struct{ fn func() }
type middle struct{ *inner }
type outer struct{ m middle }

func fields(f *dispatch.Frame, o *outer, p *func(), h *hook, x object) {
	o.m.fn()    // want `\[dynamic\] at Dispatch: calls the function value o.m.fn`
	(*p)()      // want `\[dynamic\] at Dispatch: calls the function value \*p`
	(*h)()      // what its type says
	(x.Do)()    // want `\[blocks\] at Dispatch: calls object.Do`
	v := x.Do   // a value is not called yet
	v()         // want `\[dynamic\] at Dispatch: calls the function value v`
	plain.Do(x) // want `\[dynamic\] at Dispatch: calls plain.Do through an interface`
	func(fn func()) {
		fn() // want `\[dynamic\] at Dispatch: calls the function value fn`
	}(blocks)
	[]func(){blocks}[0]() // want `\[dynamic\] at Dispatch: calls the function value`
}
