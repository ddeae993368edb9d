package mark

import (
	"context"

	"minisrp/verbs/dispatch"
)

//level:dispath // want `\[mark\] "//level:dispath" is no mark`
func misspelt() {}

//level:dispatch alloc // want `\[mark\] "//level:dispatch alloc" is no mark`
func unknownWord() {}

// level:dispatch // want `\[mark\] looks like a mark but is none`
func spaced() {}

//level:dispatch // want `\[mark\] marked dispatch, but takes a context.Context first`
func contradicts(ctx context.Context) {}

//level:dispatch // want `\[mark\] the mark stands on nothing that is called`
type number int

//level:dispatch // want `\[mark\] an alias cannot carry a mark`
type alias = func()

func late(a int, f *dispatch.Frame) {} // want `\[mark\] a \*dispatch.Frame is the first parameter`

func both(ctx context.Context, f *dispatch.Frame) {} // want `\[mark\] a \*dispatch.Frame is the first parameter`

func two(f, g *dispatch.Frame) {} // want `\[mark\] a function takes one`

type callback func(err error, f *dispatch.Frame) // want `\[mark\] a \*dispatch.Frame is the first parameter`

func inside() {
	//level:passive // want `\[mark\] the mark belongs to no declaration`
	_ = 1
}

// Good is marked.
//
//level:dispatch noalloc
func good() {} // want good:"dispatch noalloc"

//level:dispatch
var variable func() // want variable:"dispatch"

type holder struct {
	//level:passive
	field func() // want field:"passive"

	//level:dispatch // want `\[mark\] the mark stands on nothing that is called`
	number int
}

type (
	// Grouped is marked.
	//
	//level:dispatch
	grouped func() // want grouped:"dispatch"
)

type iface interface {
	//level:dispatch
	method() // want method:"dispatch"
}
