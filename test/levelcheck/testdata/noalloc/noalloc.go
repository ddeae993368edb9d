// Package noalloc stands on the data path and allocates.
package noalloc

import (
	"fmt"
	"unsafe"

	"minisrp/noalloc/low"
	"minisrp/verbs/dispatch"
)

type request struct{ n [64]int }

var (
	last  *request
	any_  any
	bytes []byte
	table = map[int]int{}
	text  string
)

// breaks is what the routes lead to.
func breaks() { // want breaks:`allocates: noalloc.go:\d+: new\(request\) escapes to heap`
	last = new(request) // want `\[noalloc\] on the data path, from call to breaks: new\(request\) escapes to heap`
}

//level:dispatch noalloc
func direct(f *dispatch.Frame, n int, b []byte, s string) { // want direct:"dispatch noalloc" `\[noalloc\] on the data path: moved to heap: n`
	last = new(request) // want `\[noalloc\] on the data path: new\(request\) escapes to heap`
	last = &request{}   // want `\[noalloc\] on the data path: &request{} escapes to heap`
	any_ = request{}    // want `\[noalloc\] on the data path: request{} escapes to heap`
	any_ = &n
	bytes = make([]byte, 4)             // want `\[noalloc\] on the data path: make\(\[\]byte, 4\) escapes to heap`
	clear(make([]byte, n))              // want `\[noalloc\] on the data path: makes what the stack may have no room for`
	bytes = append(bytes, 1)            // want `\[noalloc\] on the data path: append may take memory`
	table[n] = 1                        // want `\[noalloc\] on the data path: writes to a map`
	table[n]++                          // want `\[noalloc\] on the data path: writes to a map`
	text = s + text                     // want `\[noalloc\] on the data path: s \+ text escapes to heap` `\[noalloc\] on the data path: puts strings together`
	text += s                           // want `\[noalloc\] on the data path: puts strings together`
	text = string(b)                    // want `\[noalloc\] on the data path: string\(b\) escapes to heap` `converts between a string and a slice`
	copy(b, []byte(s))                  // want `\[noalloc\] on the data path: converts between a string and a slice`
	hook := func() { last, n = nil, 1 } // want `\[noalloc\] on the data path: func literal escapes to heap`
	any_ = hook
}

// What is near to it, and takes nothing.
//
//level:dispatch noalloc
func fine(f *dispatch.Frame, n int, b []byte, s string) (*request, error) { // want fine:"dispatch noalloc"
	if n < 0 {
		panic(fmt.Sprintf("n is %d: %s", n, s+text))
	}
	var r request
	fill(&r)
	any_ = last
	any_ = "constant"
	any_ = 7
	any_ = struct{}{}
	any_ = func() {}
	n += table[n]
	delete(table, n)
	copy(b, s)
	var room [32]byte
	out := append(room[:0], b...)
	out = append(out, 1)
	var l low.Request
	out = l.AppendTo(out)
	_ = unsafe.String(&out[0], l.Count())
	return nil, errBroken
}

var errBroken = fmt.Errorf("broken")

func fill(r *request) { r.n[0] = 1 }

//level:dispatch noalloc
func call(f *dispatch.Frame) { // want call:"dispatch noalloc"
	breaks()
	low.Twice()                              // want `\[noalloc\] on the data path: calls low.Twice, which allocates \(low.go:\d+: calls New; low.go:\d+: new\(Request\) escapes`
	bytes = new(low.Request).AppendTo(bytes) // want `\[noalloc\] on the data path: low.Request.AppendTo appends to memory that it may have to take`
}

type object struct{}

func (object) Do() { // want Do:"allocates"
	last = new(request)
}

// Free is called at Dispatch, and not on the data path.
func (object) Free() { // want Free:"allocates"
	last = new(request)
}

type doer interface {
	//level:dispatch noalloc
	Do() // want Do:"dispatch noalloc"
}

type freer interface {
	doer

	//level:dispatch
	Free() // want Free:"dispatch"
}

//level:dispatch noalloc
func throughInterface(f *dispatch.Frame, x freer) { // want throughInterface:"dispatch noalloc"
	var d doer = object{} // want `\[noalloc\] object.Do allocates \(noalloc.go:\d+: new\(request\) escapes to heap\) and implements doer.Do, which is on the data path`
	d.Do()
	x.Do()
	x.Free() // want `\[noalloc\] on the data path: calls freer.Free through an interface, and the method is not marked noalloc`
}

//level:dispatch noalloc
type hook func() // want hook:"dispatch noalloc"

type device struct {
	//level:dispatch noalloc
	done func() // want done:"dispatch noalloc"

	//level:dispatch
	other func() // want other:"dispatch"
}

//level:dispatch noalloc
func throughValue(f *dispatch.Frame, d *device) { // want throughValue:"dispatch noalloc"
	var h hook = breaks // want `\[noalloc\] breaks allocates \(.*\) and becomes a function of the data path`
	h()
	d.done()
	d.other()        // want `\[noalloc\] on the data path: calls the function value d.other`
	d.done = d.other // want `\[noalloc\] d.other becomes a function of the data path, and neither its type nor its variable is marked noalloc`
	d.done = fine2
}

func fine2() {}

//level:dispatch noalloc
func throughClosure(f *dispatch.Frame) { // want throughClosure:"dispatch noalloc"
	local := func() {
		last = new(request) // want `\[noalloc\] on the data path, from throughClosure to the function literal .*: new\(request\) escapes to heap`
	}
	local()
	func() {
		last = new(request) // want `\[noalloc\] on the data path: new\(request\) escapes to heap`
	}()
}

// What goes to the data path is held to it wherever it is made.
func makes(d *device) { // want makes:"allocates"
	n := 0
	d.done = func() {
		n++
		last = new(request) // want `\[noalloc\] on the data path: new\(request\) escapes to heap`
	}
}

func throughGenericFuncCallee[T any]() *T { // want throughGenericFuncCallee:"allocates"
	return new(T) // want `\[noalloc\] on the data path, from throughGenericFunc to throughGenericFuncCallee: new\(.*\) escapes to heap`
}

//level:dispatch noalloc
func throughGenericFunc(f *dispatch.Frame) { // want throughGenericFunc:"dispatch noalloc"
	last = throughGenericFuncCallee[request]()
}

type throughGenericTypeCallee[T any] struct{ items []T }

func (q *throughGenericTypeCallee[T]) push(v T) { // want push:"allocates"
	q.items = append(q.items, v) // want `\[noalloc\] on the data path, from throughGenericType to throughGenericTypeCallee.push: append may take memory`
}

//level:dispatch noalloc
func throughGenericType(f *dispatch.Frame, q *throughGenericTypeCallee[int]) { // want throughGenericType:"dispatch noalloc"
	q.push(1)
}

//level:dispatch noalloc
func exempt(f *dispatch.Frame) { // want exempt:"dispatch noalloc"
	//level:allow noalloc: once in a life
	breaks()
	//level:allow noalloc: the same
	last = new(request)
	//level:allow noalloc: none is needed // want `\[allow\] the exemption from noalloc is not needed`
	last = nil
}

// A type parameter may stand for what takes memory.
//
//level:dispatch noalloc
func parameters[M ~map[int]int, S ~string, B ~[]byte](f *dispatch.Frame, m M, s S, b B) (S, B) { // want parameters:"dispatch noalloc"
	m[1] = 2         // want `\[noalloc\] on the data path: writes to a map`
	s += s           // want `\[noalloc\] on the data path: puts strings together`
	s = S(b)         // want `\[noalloc\] on the data path: converts between a string and a slice`
	_ = B(s)         // want `\[noalloc\] on the data path: converts between a string and a slice`
	b = append(b, 1) // want `\[noalloc\] on the data path: append may take memory`
	return s, b
}

// What a slice had before it is appended to does not say where it lies.
//
//level:dispatch noalloc
func grows(f *dispatch.Frame, given []byte) (result []byte) { // want grows:"dispatch noalloc"
	given = append(given, 1) // want `\[noalloc\] on the data path: append may take memory`
	var none []byte
	none = append(none, given...)       // want `\[noalloc\] on the data path: append may take memory`
	return append(append(result, 1), 2) // want `append may take memory` `append may take memory`
}
