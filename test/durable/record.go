package durable

import (
	"fmt"
	"slices"
)

// kind is what a request makes of the blocks that it is for.
type kind uint8

const (
	initial kind = iota // zeros, before everything else
	written
	zeroed
	trimmed // zeros or what was there
	reading // nothing
)

func (k kind) String() string {
	return [...]string{"the initial zeros", "write", "write zeroes", "trim", "read"}[k]
}

// op is a request in the record.
type op struct {
	kind     kind
	version  version
	fua      bool
	answered bool
	durable  bool
	conn     int
	span     span
}

func (o *op) String() string {
	if o.kind == initial {
		return o.kind.String()
	}
	s := fmt.Sprintf("%v %d of round %d", o.kind, o.version.seq, o.version.round)
	switch {
	case o.durable && o.fua:
		s += " (FUA, answered)"
	case o.durable:
		s += " (flushed)"
	case o.answered:
		s += " (answered)"
	}
	return s
}

// zeros reports whether a block may hold zeros because of the request.
func (o *op) zeros() bool { return o.kind != written }

// span is a run of blocks, numbered within the area.
type span struct{ first, count uint64 }

// record knows for each block of the area which contents it may have.
//
// Ownership: under the run's lock.
type record struct {
	area   area
	blocks []history
	// answered are the requests that were answered and are not durable, by connection.
	answered [][]*op
}

// history is what a block may hold: the last durable version, then those that were asked for after it, in order.
// Trims between may be durable themselves, but make nothing before them impossible.
type history struct {
	versions []*op
	busy     bool // a request for the block is under way
}

func newRecord(a area, conns int) *record {
	r := &record{area: a, blocks: make([]history, a.blocks()), answered: make([][]*op, conns)}
	zero := &op{kind: initial, answered: true, durable: true}
	for i := range r.blocks {
		r.blocks[i].versions = []*op{zero}
	}
	return r
}

// free reports whether no request for the span is under way.
func (r *record) free(s span) bool {
	return !slices.ContainsFunc(r.of(s), func(h history) bool { return h.busy })
}

func (r *record) of(s span) []history { return r.blocks[s.first : s.first+s.count] }

// issue notes that the request is about to be sent.
func (r *record) issue(o *op) {
	blocks := r.of(o.span)
	for i := range blocks {
		blocks[i].busy = true
		if o.kind != reading {
			blocks[i].versions = append(blocks[i].versions, o)
		}
	}
}

// answer notes the reply to the request.
func (r *record) answer(o *op) {
	blocks := r.of(o.span)
	for i := range blocks {
		blocks[i].busy = false
	}
	if o.kind == reading {
		return
	}
	o.answered = true
	if o.fua {
		r.harden(o)
		return
	}
	r.answered[o.conn] = append(r.answered[o.conn], o)
}

// harden notes that the request is durable: nothing older than it can come back, except behind a trim.
func (r *record) harden(o *op) {
	if o.durable {
		return
	}
	o.durable = true
	if o.kind == trimmed {
		return
	}
	blocks := r.of(o.span)
	for i := range blocks {
		h := &blocks[i]
		if at := slices.Index(h.versions, o); at > 0 {
			h.versions = slices.Delete(h.versions, 0, at)
		}
	}
}

// flushing returns what a flush that is sent now on the connection covers; all says that it covers all connections.
func (r *record) flushing(conn int, all bool) []*op {
	if !all {
		return slices.Clone(r.answered[conn])
	}
	return slices.Concat(r.answered...)
}

// flushed notes the reply to a flush that covers the requests.
func (r *record) flushed(covered []*op) (hardened int) {
	for _, o := range covered {
		if !o.durable {
			r.harden(o)
			hardened++
		}
	}
	for i := range r.answered {
		r.answered[i] = slices.DeleteFunc(r.answered[i], func(o *op) bool { return o.durable })
	}
	return hardened
}

// killed notes that nothing is under way any more, and that no flush will cover what was answered.
func (r *record) killed() {
	for i := range r.blocks {
		r.blocks[i].busy = false
	}
	for i := range r.answered {
		r.answered[i] = nil
	}
}

// observe compares a block's content with what it may hold, and forgets the versions that have turned out not to be.
// lost are those that were asked for later than what is there. v is nil when the content is possible.
func (r *record) observe(block uint64, content, scratch []byte) (found *op, lost []*op, v *Violation) {
	h := &r.blocks[block]
	number := r.area.number(block)
	zero := isZero(content)
	for i := len(h.versions) - 1; i >= 0; i-- {
		o := h.versions[i]
		if zero && o.zeros() || !zero && !o.zeros() && o.version.matches(content, number, scratch) {
			lost = h.versions[i+1:]
			h.versions = h.versions[:i+1]
			return o, lost, nil
		}
	}
	v = &Violation{Offset: number * blockSize, Length: blockSize, Found: describe(content, number, r.area.run)}
	for _, o := range h.versions {
		v.Possible = append(v.Possible, o.String())
	}
	return nil, nil, v
}

// settle notes that what was observed last has been flushed.
func (r *record) settle() {
	for i := range r.blocks {
		h := &r.blocks[i]
		last := h.versions[len(h.versions)-1]
		if last.kind == trimmed {
			// Zeros were seen, and are there for good.
			last = &op{kind: zeroed, version: last.version, answered: true}
		}
		last.durable = true
		h.versions = append(h.versions[:0], last)
	}
}

// current reports whether content is what the block must hold while the server runs: the newest version, or what is
// behind it when that is a trim.
func (r *record) current(block uint64, content, scratch []byte) *Violation {
	h := &r.blocks[block]
	number := r.area.number(block)
	for i := len(h.versions) - 1; i >= 0; i-- {
		o := h.versions[i]
		if isZero(content) && o.zeros() || !o.zeros() && o.version.matches(content, number, scratch) {
			return nil
		}
		if o.kind != trimmed {
			break
		}
	}
	return &Violation{Offset: number * blockSize, Length: blockSize, Found: describe(content, number, r.area.run),
		Possible: []string{h.versions[len(h.versions)-1].String()}, Running: true}
}
