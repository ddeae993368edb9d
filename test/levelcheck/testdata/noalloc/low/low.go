// Package low allocates, or not, for packages above it.
package low

var sink any

type Request struct{ n [64]int }

func New() *Request { return new(Request) } // want New:`allocates: low.go:\d+: new\(Request\) escapes to heap`

func Twice() { // want Twice:`allocates: low.go:\d+: calls New; low.go:\d+: new\(Request\) escapes to heap`
	New()
	New()
}

func (r *Request) Count() int { return len(r.n) }

// AppendTo leaves the room to its caller.
func (r *Request) AppendTo(b []byte) []byte { return append(b, 1, 2, 3) }
