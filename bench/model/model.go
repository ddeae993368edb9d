package model

import "math/bits"

// model is an adapter without a protocol: a request is an entry in a queue, a copy, and a completion in another
// queue, all on the goroutine that submits.
//
// Ownership: of the goroutine that calls run.
type model struct {
	lane     *lane
	requests []request
	places   sequence
	count    uint64 // places there are

	work, done ring
	left       int // still to be posted
	failed     int
}

// entry is what stands in a queue, both ways.
type entry struct {
	request uint32 // whose it is
	write   bool
	ok      bool // of a completion
	length  uint32
	local   uint64 // offset in the buffers
	remote  uint64 // in the unit
}

// request is what the submitter has for each that is under way.
type request struct {
	entry
	done func(r *request, ok bool)
}

// ring is a queue of as many entries as are ever in it.
type ring struct {
	entries    []entry // a power of two
	head, tail uint32  // taken, and put, since the start
}

func newRing(n int) ring { return ring{entries: make([]entry, 1<<bits.Len(uint(n-1)))} }

func (r *ring) put(e *entry) {
	r.entries[r.tail&uint32(len(r.entries)-1)] = *e
	r.tail++
}

func (r *ring) take() *entry {
	e := &r.entries[r.head&uint32(len(r.entries)-1)]
	r.head++
	return e
}

func newModel(l *lane, c Case) *model {
	m := &model{
		lane: l, requests: make([]request, c.Depth), places: sequence(c.Depth), count: uint64(len(l.unit)) / uint64(c.Size),
		work: newRing(c.Depth), done: newRing(c.Depth),
	}
	for i := range m.requests {
		m.requests[i] = request{
			entry: entry{request: uint32(i), write: c.Write, length: c.Size, local: uint64(i) * uint64(c.Size)},
			done:  m.completed,
		}
	}
	return m
}

func (m *model) run(n int) int {
	m.left, m.failed = n, 0
	for i := range min(n, len(m.requests)) {
		m.post(&m.requests[i])
	}
	for m.work.head != m.work.tail {
		m.execute()
		m.poll()
	}
	return m.failed
}

func (m *model) post(r *request) {
	m.left--
	r.remote = m.places.next(m.count) * uint64(r.length)
	m.work.put(&r.entry)
}

// execute does what has been posted.
func (m *model) execute() {
	for m.work.head != m.work.tail {
		e := m.work.take()
		mine, theirs := m.lane.buffer[e.local:][:e.length], m.lane.unit[e.remote:][:e.length]
		if e.write {
			copy(theirs, mine)
		} else {
			copy(mine, theirs)
		}
		m.done.put(&entry{request: e.request, ok: true})
	}
}

// poll tells the requests whose completions are there.
func (m *model) poll() {
	for m.done.head != m.done.tail {
		e := m.done.take()
		r := &m.requests[e.request]
		r.done(r, e.ok)
	}
}

func (m *model) completed(r *request, ok bool) {
	if !ok {
		m.failed++
	}
	if m.left > 0 {
		m.post(r)
	}
}
