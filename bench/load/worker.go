package load

import (
	"time"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Direction is a kind of request.
type Direction uint8

const (
	Read Direction = iota
	Write
	Trim
	Flush
	directions
)

func (d Direction) String() string { return [...]string{"read", "write", "trim", "flush"}[d] }

// worker is a clone of a job.
//
//	start    the limits allow it    a request is at a unit
//	start    a rate, or thinktime   the timer is armed
//	done                            start again
//	done     the last, to verify    all that was written is read
//	done     the last               finished
//
// Ownership: the frame's that owns the processor, from begin until finished is signalled.
type worker struct {
	// Fixed after construction.
	job       *Job
	processor *dispatch.Processor
	finished  chan struct{} // capacity 1
	blockSize uint64        // logical
	content   content

	slots  []slot
	free   []uint32 // the first idle of them
	idle   int
	places []place

	kick, stop dispatch.DPC
	timer      dispatch.Timer

	random    random
	begun     time.Duration // when it counts from
	ends      time.Duration // when the time is over; 0: no such limit
	ramping   bool
	notBefore time.Duration // thinktime
	issued    uint64        // requests, without flushes
	moved     uint64        // bytes of them, for the limit and the rate
	credited  uint64        // requests that the rate has counted
	sinceSync int
	writes    uint32
	turn      int // of the units
	stopped   bool
	verifying bool
	over      bool

	stats  stats
	faults []Fault // with room for keptFaults
	bad    uint64
}

// slot is what a request is made in.
type slot struct {
	worker    *worker
	index     uint32
	srb       miniport.SRB
	memory    []byte // of its segment
	began     time.Duration
	place     *place
	direction Direction
	off, size uint64
	attention int // times it was sent again
}

// begin starts as many requests as the depth allows. Level: Dispatch, on the processor.
//
//level:dispatch noalloc
func (w *worker) begin(f *dispatch.Frame) {
	now := f.Now()
	w.begun = now + w.job.Ramp
	w.ramping = w.job.Ramp > 0
	if w.job.Runtime > 0 {
		w.ends = w.begun + w.job.Runtime
	}
	w.fill(f)
}

// end stops it early. Level: Dispatch, on the processor.
//
//level:dispatch noalloc
func (w *worker) end(f *dispatch.Frame) {
	w.stopped = true
	w.fill(f)
}

// fill starts what may be started.
//
//level:dispatch noalloc
func (w *worker) fill(f *dispatch.Frame) {
	if w.over {
		return
	}
	for range w.idle {
		if !w.start(f) {
			break
		}
	}
	if w.idle == len(w.slots) && !w.timer.Armed() {
		w.next(f)
	}
}

// next is called when nothing is under way, and nothing will be: it goes on to verification, or ends.
func (w *worker) next(f *dispatch.Frame) {
	if !w.verifying && w.job.Verify != VerifyNone && !w.failed() {
		w.verifying = true
		w.stats.ended = f.Now()
		for range w.idle {
			if !w.startCheck(f) {
				break
			}
		}
		if w.idle != len(w.slots) {
			return
		}
	}
	w.stats.verified = f.Now()
	if !w.verifying {
		w.stats.ended = f.Now()
	}
	w.over = true
	select {
	case w.finished <- struct{}{}:
	default:
	}
}

// failed reports whether something went wrong that ends the job.
func (w *worker) failed() bool { return w.bad > 0 && !w.job.Continue }

// start starts a request, if there is one to be started now.
func (w *worker) start(f *dispatch.Frame) bool {
	if w.verifying {
		return w.startCheck(f)
	}
	now := f.Now()
	if w.ramping && now >= w.begun {
		w.ramping = false
		w.stats.reset()
		w.issued, w.moved, w.credited = 0, 0, 0
	}
	if w.done(now) {
		w.timer.Cancel(f)
		return false
	}
	if at := w.due(); at > now {
		if w.ends != 0 {
			at = min(at, w.ends)
		}
		w.timer.ArmAt(f, at)
		return false
	}
	if w.job.FlushEvery > 0 && w.sinceSync >= w.job.FlushEvery {
		w.sinceSync = 0
		s := w.take()
		s.direction, s.place, s.off, s.size = Flush, &w.places[w.turn%len(w.places)], 0, 0
		s.submit(f)
		return true
	}
	return w.issue(f)
}

// done reports whether the job has done, or has had, what it is limited to.
func (w *worker) done(now time.Duration) bool {
	j := w.job
	switch {
	case w.stopped || w.failed():
		return true
	case w.ends != 0 && now >= w.ends:
		return true
	case w.ramping:
		return false
	case j.Number > 0 && w.issued >= j.Number:
		return true
	}
	return !j.TimeBase && (j.Number == 0 || j.Runtime == 0 && w.moved >= w.region()) && w.moved >= w.region()
}

// region returns the bytes of all regions.
func (w *worker) region() (n uint64) {
	for i := range w.places {
		n += w.places[i].end - w.places[i].from
	}
	return n
}

// due returns when the next request may start.
func (w *worker) due() time.Duration {
	at := w.notBefore
	if r := w.job.RateIOPS; r > 0 {
		at = max(at, w.begun+time.Duration(float64(w.issued)/float64(r)*1e9))
	}
	if r := w.job.Rate; r > 0 {
		at = max(at, w.begun+time.Duration(float64(w.moved)/float64(r)*1e9))
	}
	if w.ramping {
		at = w.notBefore
	}
	return at
}

// tries is how many places are looked at before a request waits for one that is in the way.
const tries = 8

// issue starts a read, write or trim.
func (w *worker) issue(f *dispatch.Frame) bool {
	d := w.direction()
	for range tries {
		p := &w.places[w.turn%len(w.places)]
		w.turn++
		off, size := p.next(&w.random, w.job.RW.Random, w.size())
		if !p.enter(off, size, d) {
			continue
		}
		s := w.take()
		s.direction, s.place, s.off, s.size = d, p, off, size
		w.issued++
		w.moved += size
		if d == Write {
			w.sinceSync++
		}
		s.prepare()
		s.submit(f)
		return true
	}
	// All were in the way of what is under way: its completion tries again.
	return false
}

// startCheck starts the next read at the end.
func (w *worker) startCheck(f *dispatch.Frame) bool {
	if w.stopped || w.failed() {
		return false
	}
	for i := range w.places {
		if off, size, ok := w.places[i].unchecked(uint64(w.job.largest())); ok {
			w.places[i].enter(off, size, Read)
			s := w.take()
			s.direction, s.place, s.off, s.size = Read, &w.places[i], off, size
			s.submit(f)
			return true
		}
	}
	return false
}

// take takes an idle slot; there is one.
func (w *worker) take() *slot {
	w.idle--
	return &w.slots[w.free[w.idle]]
}

func (w *worker) direction() Direction {
	rw := w.job.RW
	switch {
	case rw.Trim:
		return Trim
	case rw.Read && rw.Write:
		if w.random.below(100) < uint64(w.job.ReadPercent) {
			return Read
		}
		return Write
	case rw.Write:
		return Write
	}
	return Read
}

// size returns that of the next block.
func (w *worker) size() uint64 {
	j := w.job
	if j.Smallest > 0 {
		return uint64(j.Smallest) * (1 + w.random.below(uint64(j.Largest/j.Smallest)))
	}
	if len(j.Blocks) == 1 {
		return uint64(j.Blocks[0].Size)
	}
	n := int(w.random.below(100))
	for i := range j.Blocks {
		if n -= j.Blocks[i].Percent; n < 0 {
			return uint64(j.Blocks[i].Size)
		}
	}
	return uint64(j.Blocks[0].Size)
}

// prepare writes what a request has to write.
func (s *slot) prepare() {
	w, p := s.worker, s.place
	if s.direction == Read || p.written == nil {
		return
	}
	first, past := p.span(s.off, s.size)
	if s.direction == Trim {
		clear(p.written[first:past])
		return
	}
	if w.writes++; w.writes == 0 {
		w.writes = 1
	}
	for i := range p.written[first:past] {
		at := uint64(i) * p.align
		p.written[first+uint64(i)] = w.writes
		w.content.fill(s.memory[at:][:p.align], p.number, s.off+at, w.writes)
	}
}

// submit sends the request.
func (s *slot) submit(f *dispatch.Frame) {
	w, r := s.worker, &s.srb
	lba, blocks := s.off/w.blockSize, uint32(s.size/w.blockSize)
	r.Length = uint32(s.size)
	switch s.direction {
	case Read, Write:
		rw := scsi.RW{Write: s.direction == Write, FUA: s.direction == Write && w.job.FUA, LBA: lba, Blocks: blocks}
		r.CDBLength = uint8(rw.Put(&r.CDB))
		r.Direction = miniport.DataIn
		if rw.Write {
			r.Direction = miniport.DataOut
		}
	case Trim:
		extent := [1]scsi.Extent{{LBA: lba, Blocks: blocks}}
		n, err := scsi.PutUnmapList(s.memory, extent[:])
		if err != nil {
			panic("load: no room for the list of an UNMAP")
		}
		unmap := scsi.Unmap{ParameterListLength: uint16(n)}
		r.CDBLength = uint8(unmap.Put(&r.CDB))
		r.Direction, r.Length = miniport.DataOut, uint32(n)
	case Flush:
		var sync scsi.SyncCache
		r.CDBLength = uint8(sync.Put(&r.CDB))
		r.Direction, r.Length = miniport.NoData, 0
	}
	r.Data = r.Data[:0]
	if r.Length > 0 {
		r.Data = r.Data[:1]
		r.Data[0].Length = r.Length
	}
	s.began = f.Now()
	s.place.unit.Submit(f, r)
}

// done takes what has become of the request.
//
//level:dispatch noalloc
func (s *slot) done(f *dispatch.Frame, r *miniport.SRB) {
	w := s.worker
	if r.Status == miniport.StatusError && s.attention < maxAttentions && attention(r) {
		s.attention++
		s.place.unit.Submit(f, r)
		return
	}
	s.attention = 0
	now := f.Now()
	switch {
	case r.Status != miniport.StatusSuccess:
		w.fault(Fault{Status: statusOf(r)}, s, s.off, s.size)
	case r.Transferred != r.Length:
		w.fault(Fault{Status: "short"}, s, s.off, s.size)
	case s.direction == Read:
		s.check()
	}
	if s.direction != Flush {
		s.place.leave(s.off, s.size, s.direction)
	}
	w.stats.add(s.direction, w.verifying, now-s.began, s.size)
	w.free[w.idle] = s.index
	w.idle++
	if w.job.Think > 0 {
		w.notBefore = now + w.job.Think
	}
	w.fill(f)
}

// attention reports whether a unit has only told that something happened to it.
func attention(r *miniport.SRB) bool {
	sense, err := scsi.ParseSense(r.Sense())
	return err == nil && sense.Key == scsi.KeyUnitAttention
}

// statusOf names a failure.
func statusOf(r *miniport.SRB) string { return r.Status.String() }

// check compares what was read with what had been written.
func (s *slot) check() {
	w, p := s.worker, s.place
	if p.written == nil {
		return
	}
	first, past := p.span(s.off, s.size)
	for i, write := range p.written[first:past] {
		if write == 0 {
			continue
		}
		at := uint64(i) * p.align
		if m, is := w.content.check(s.memory[at:][:p.align], p.number, s.off+at, write); m != Same {
			w.fault(Fault{Mismatch: m, is: is, want: write}, s, s.off+at, p.align)
		}
	}
}

// fault keeps what went wrong, if there is room.
func (w *worker) fault(t Fault, s *slot, off, n uint64) {
	w.bad++
	if len(w.faults) == cap(w.faults) {
		return
	}
	t.Unit, t.Direction, t.Offset, t.Length = s.place.number, s.direction, off, n
	w.faults = w.faults[:len(w.faults)+1]
	w.faults[len(w.faults)-1] = t
}
