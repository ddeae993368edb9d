package loop

import (
	"sync/atomic"
	"time"

	"minisrp/verbs/dispatch"
)

type item struct {
	next *item
	n    int
}

type queue struct{ head *item }

func (q *queue) pop() *item {
	n := q.head
	if n != nil {
		q.head = n.next
	}
	return n
}

func (q *queue) push(n *item) { n.next, q.head = q.head, n }

func (q *queue) empty() bool { return q.head == nil }

type port struct {
	flag  atomic.Uint32
	lock  atomic.Uint32
	count atomic.Int32
	queue queue
	first *item
	left  int
	at    struct{ moved, total int }
	fn    func(f *dispatch.Frame) bool
}

const held = 1

// Nobody sees the end of these.
func (p *port) endless(f *dispatch.Frame, n int) {
	for n > 0 { // want `\[loop\] at Dispatch: loops`
		p.left--
	}
	for p.flag.Load() == 0 { // want `\[loop\] at Dispatch: loops`
		n++
	}
	for p.busy() { // want `\[loop\] at Dispatch: loops`
	}
	for !p.lock.CompareAndSwap(0, held) { // want `\[loop\] at Dispatch: loops`
	}
	for { // want `\[loop\] at Dispatch: loops`
		old := p.lock.Load()
		if old&held != 0 {
			continue
		}
		if p.lock.CompareAndSwap(old, old|held) {
			break
		}
	}
	for i := 0; i < n; { // want `\[loop\] at Dispatch: loops`
		if p.flag.Load() == 0 {
			continue
		}
		i++
	}
	for x := p.first; x != nil; { // want `\[loop\] at Dispatch: loops`
		if x.n > 0 {
			x = x.next
		}
	}
	for { // want `\[loop\] at Dispatch: loops`
		if x := p.queue.pop(); x != nil {
			p.queue.push(x)
		} else {
			return
		}
	}
}

func (p *port) more(f *dispatch.Frame, n int) {
	func() {
		for p.flag.Load() != 0 { // want `\[loop\] at Dispatch: loops`
		}
	}()
	for end := f.Now() + time.Second; p.flag.Load() != 0; { // want `\[loop\] at Dispatch: loops`
		_ = end
	}
again:
	if n++; p.flag.Load() == 0 {
		goto again // want `\[loop\] at Dispatch: goes back to again`
	}
}

func forever(f *dispatch.Frame) {
	for { // want `\[loop\] at Dispatch: loops, and not every way round steps`
	}
}

// These breaks end something else.
func breaksInner(f *dispatch.Frame, n int) {
	for { // want `\[loop\] at Dispatch: loops`
		for i := range n {
			if i > 3 {
				break
			}
		}
		select {
		default:
			break
		}
	}
}

func continues(f *dispatch.Frame, n int) {
outer:
	for { // want `\[loop\] at Dispatch: loops`
		for range n {
			continue outer
		}
		n++
	}
}

func (p *port) busy() bool { return p.flag.Load() != 0 }

// And of these somebody does.
func fine(f *dispatch.Frame, p *port, b []byte, n int) {
	for range n {
	}
	for i := 0; i < n; i++ {
		if b[i] == 0 {
			continue
		}
	}
	for len(b) > 0 {
		b = b[1:]
	}
	for x := p.first; x != nil; x = x.next {
	}
	for x := p.first; x != nil; {
		next := x.next
		x.next = nil
		x = next
	}
	for x := p.queue.pop(); x != nil; x = p.queue.pop() {
	}
	for !p.queue.empty() {
		p.queue.pop()
	}
	all := p.queue
	for {
		x := all.pop()
		if x == nil {
			break
		}
		p.queue.push(x)
	}
	for {
		if p.left--; p.left < 0 {
			return
		}
	}
	for p.count.Load() > 0 {
		p.count.Add(-1)
	}
	for end := f.Now() + time.Second; f.Now() < end; {
	}
	for {
		old := p.flag.Load()
		if old == 0 || p.flag.CompareAndSwap(old, old+1) {
			break
		}
	}
	at := &p.at
	for at.moved < at.total && p.move() {
	}
	switch n {
	case 3:
		goto end
	}
end:
}

func (p *port) move() bool {
	at := &p.at
	at.moved++
	return at.moved%2 == 0
}

func (p *port) even(f *dispatch.Frame, n int) bool {
	if n == 0 {
		return true
	}
	return p.odd(f, n-1) // want `\[loop\] at Dispatch: calls port.odd, which leads back here`
}

func (p *port) odd(f *dispatch.Frame, n int) bool {
	return !p.even(f, n-1) // want `\[loop\] at Dispatch: calls port.even, which leads back here`
}

func depth(x *item) int { // want depth:`blocks: .*calls depth, which leads back here`
	if x == nil {
		return 0
	}
	return 1 + depth(x.next)
}

func calls(f *dispatch.Frame, p *port) {
	depth(p.first) // want `\[blocks\] at Dispatch: calls depth, which blocks`
	var walk func(n int)
	walk = func(n int) {
		walk(n - 1)
	}
	walk(3) // want `\[blocks\] at Dispatch: calls the function literal at loop.go:\d+, which blocks`
}

// At Passive nobody minds.
//
//level:passive
func passive(p *port) { // want passive:"passive"
	for p.flag.Load() == 0 {
	}
	passive(p)
}
