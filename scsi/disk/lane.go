package disk

import (
	"time"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// lane is what a disk has on one processor.
//
//	Submit → accept → queue → start: a slot takes a part → issue → Unit.Submit
//	                            ↑ ready: to be sent again, or further        …
//	Request.Done ← deliver ← done ← the last part's end ← back: verdict ← SRB.Done
//
// Requests are begun in the order of Submit. Of those in queue only the first may have parts in slots already.
//
// Ownership: of the frame that owns proc, except incoming, returned and dpc, which anyone uses.
type lane struct {
	// Fixed after construction.
	disk  *Disk
	proc  *dispatch.Processor
	shelf *shelf

	incoming dispatch.Stack[link, *link]
	returned dispatch.Stack[slot, *slot]
	dpc      dispatch.DPC

	queue requestList // with blocks that are not yet a slot's
	done  requestList // to be told
	free  slotList
	ready slotList
	out   int // slots at the unit

	own         slot  // the disk's, whatever others do
	taken       int   // slots of the shelf that it has
	waits       bool  // in the shelf's queue
	nextWaiting *lane // there

	// A pause is the unit's, not a command's: nothing is sent while it lasts.
	pause dispatch.Timer
	until time.Duration // its end

	control slot
	idle    chan struct{} // closed when the disk is closed and out is 0
	ended   bool          // idle is closed

	counters counters
	latency  [latencies]latency
}

// init makes the lane. memory is its own slot's.
func (l *lane) init(d *Disk, h *shelf, memory miniport.Segment) {
	l.disk, l.proc, l.shelf = d, h.proc, h
	l.own.init(memory)
	l.own.lane = l
	l.free.push(&l.own)
	l.control.init(miniport.Segment{})
	l.control.lane = l
	l.control.kind = kindControl
	l.control.answer = make(chan struct{}, 1)
	l.idle = make(chan struct{})
	l.dpc.Init(l.proc, l.run)
	l.pause.Init(l.proc, l.turn)
}

// run takes what others have left.
//
//level:dispatch noalloc
func (l *lane) run(f *dispatch.Frame) {
	for n, _ := l.incoming.Take(); n != nil; {
		next := n.next
		n.next = nil
		l.accept(f, n.r)
		n = next
	}
	for s, _ := l.returned.Take(); s != nil; {
		next := s.next
		s.next = nil
		l.back(f, s)
		s = next
	}
	if l.control.asked.Load() && l.control.asked.CompareAndSwap(true, false) {
		l.control.fresh()
		l.ready.push(&l.control)
	}
	l.turn(f)
}

// turn starts what can be started, and tells what is complete. It is what every way into the lane ends with, except
// Submit.
//
//level:dispatch noalloc
func (l *lane) turn(f *dispatch.Frame) {
	if l.disk.closing.Load() {
		l.abandon(f)
	}
	l.pump(f)
	l.giveBack(f)
	l.deliver(f)
	if l.disk.closing.Load() && l.out == 0 && !l.ended {
		l.ended = true
		close(l.idle)
	}
}

// submit is Submit on the lane's own processor. What completes at once is told later.
func (l *lane) submit(f *dispatch.Frame, r *Request) {
	f.Starting(dispatch.LayerDisk)
	l.accept(f, r)
	l.pump(f)
	f.Started(dispatch.LayerDisk)
	if l.done.head != nil {
		l.dpc.Queue(f)
	}
}

// accept puts a request into the queue, or ends it when there is nothing to send.
func (l *lane) accept(f *dispatch.Frame, r *Request) {
	d := l.disk
	v := d.view.Load()
	err := r.begin(v)
	r.work.since = f.Now()
	switch {
	case d.closing.Load():
		err = ErrClosed
	case d.changed.Load():
		err = ErrChanged
	case err != nil:
	case r.Op == Flush && !v.cached():
	case r.work.left == 0:
	default:
		if l.queue.head != nil || l.free.head == nil && (l.taken >= d.options.Depth-1 || !l.shelf.ready()) {
			l.counters.waits.Add(1)
		}
		l.queue.push(r)
		return
	}
	r.work.err = err
	l.finish(r)
}

// pump sends as much as the slots allow.
func (l *lane) pump(f *dispatch.Frame) {
	for !l.pause.Armed() {
		if s := l.ready.pop(); s != nil {
			l.issue(f, s)
		} else if !l.start(f) {
			return
		}
	}
}

// start gives a part of the first request to a slot and sends it. It reports false when there is none of either.
func (l *lane) start(f *dispatch.Frame) bool {
	r := l.queue.head
	if r == nil {
		return false
	}
	s := l.slot()
	if s == nil {
		return false
	}
	r.work.slots++
	ok := s.begin(l.disk.view.Load(), r)
	if r.work.left == 0 {
		l.queue.pop()
	}
	if !ok {
		l.fail(f, s, ErrInvalid, false)
		return true
	}
	l.issue(f, s)
	return true
}

// slot returns a slot that is free, or nil: then the lane goes on when it has one.
func (l *lane) slot() *slot {
	s := l.free.pop()
	if s == nil && l.taken < l.disk.options.Depth-1 {
		s = l.shelf.take(l)
	}
	return s
}

// release makes a slot free.
func (l *lane) release(f *dispatch.Frame, s *slot) {
	if s == &l.own {
		l.free.push(s)
	} else {
		l.shelf.put(f, l, s)
	}
}

// giveBack returns slots that have come from the shelf when there is no use for them any more.
func (l *lane) giveBack(f *dispatch.Frame) {
	if l.queue.head != nil && !l.pause.Armed() {
		return
	}
	for all := l.free.take(); all.head != nil; {
		l.release(f, all.pop())
	}
}

// issue sends the slot's next command.
func (l *lane) issue(f *dispatch.Frame, s *slot) {
	d := l.disk
	v := d.view.Load()
	if v != nil {
		if send, meaning := s.build(v, v.caps&^caps(d.refused.Load())); !send {
			if meaning != nil {
				l.fail(f, s, meaning, s.tried != 0)
			} else {
				l.end(f, s)
			}
			return
		}
	}
	if s.tried == 0 {
		s.since = f.Now()
	}
	if s.tried < 255 {
		s.tried++
	}
	l.out++
	l.counters.commands.Add(1)
	d.unit.Submit(f, &s.srb)
}

// back takes a slot whose SRB has completed.
func (l *lane) back(f *dispatch.Frame, s *slot) {
	l.out--
	v := s.verdict()
	l.counters.classes[v.class].Add(1)
	if v.notes != 0 {
		l.disk.note(v.notes, s)
	}
	switch v.class {
	case classGood:
		l.progress(f, s)
	case classFatal:
		l.fail(f, s, v.meaning, true)
	case classRefused:
		if c := s.refused(); c != 0 {
			l.disk.refused.Or(uint32(c))
			s.fresh()
			l.ready.push(s)
			return
		}
		l.fail(f, s, v.meaning, true)
	default:
		l.again(f, s, v)
	}
}

// again has a command sent again as the policy of its class says, or fails it.
func (l *lane) again(f *dispatch.Frame, s *slot, v verdict) {
	p := &policies[v.class]
	n := &s.tries[v.class]
	delay := p.delay
	for i := uint8(0); i < *n && delay < p.most; i++ {
		delay *= 2
	}
	delay = min(delay, p.most)
	if *n >= p.tries && p.tries != 255 || f.Now()+delay-s.since > timeLimit {
		l.fail(f, s, v.meaning, true)
		return
	}
	if *n < 255 {
		*n++
	}
	l.ready.push(s)
	if end := f.Now() + delay; delay > 0 && (!l.pause.Armed() || end > l.until) {
		l.until = end
		l.pause.Arm(f, delay)
	}
}

// progress goes on after a command that was carried out.
func (l *lane) progress(f *dispatch.Frame, s *slot) {
	if s.kind == kindControl {
		l.tell(s)
		return
	}
	if s.kind == kindStatus {
		s.learn(l.disk.view.Load())
	}
	s.lba += s.count
	s.left -= s.count
	if s.left != 0 && s.request.work.err == nil {
		s.fresh()
		l.ready.push(s)
		return
	}
	l.end(f, s)
}

// fail ends the slot's part with an error: the request's, if it is the first. What is not begun of it is not begun
// any more. answered says that the SRB tells why.
func (l *lane) fail(f *dispatch.Frame, s *slot, meaning error, answered bool) {
	if s.kind == kindControl {
		s.failed = true
		s.describe(&s.failure, meaning)
		l.tell(s)
		return
	}
	if s.kind == kindSync && (meaning == ErrMedium || s.hasSense && s.sense.Key == scsi.KeyHardwareError) {
		l.disk.note(noteLost, s)
	}
	w := &s.request.work
	if w.err == nil {
		w.err = meaning
		if answered {
			s.describe(&w.failure, meaning)
			w.err = &w.failure
		}
	}
	if w.left != 0 {
		w.left = 0
		if l.queue.pop() != s.request {
			panic("disk: a request with parts at the unit was not the first of the queue")
		}
	}
	l.end(f, s)
}

// end is the end of a slot's part. The last one of a request ends it, or becomes the flush that is to follow.
func (l *lane) end(f *dispatch.Frame, s *slot) {
	r := s.request
	w := &r.work
	w.slots--
	last := w.slots == 0 && w.left == 0
	if last && w.sync && w.err == nil {
		w.sync = false
		w.slots = 1
		s.sync()
		l.ready.push(s)
		return
	}
	s.request = nil
	l.release(f, s)
	if last {
		l.finish(r)
	}
}

// finish is the end of a request. It is told by deliver.
func (l *lane) finish(r *Request) {
	if r.Op == Flush && r.work.err == nil && l.disk.lost.Load() {
		r.work.err = ErrLostWrites
	}
	r.Err = r.work.err
	l.counters.finished(r)
	l.done.push(r)
}

// deliver tells the owners of requests. What they submit from there, and completes at once, has to wait for the next
// turn, so that a chain of such requests does not keep the processor.
func (l *lane) deliver(f *dispatch.Frame) {
	for told := l.done.take(); ; {
		r := told.pop()
		if r == nil {
			return
		}
		if r.Err == nil {
			l.latency[latencyOf(r.Op)].add(f.Now() - r.work.since)
		}
		r.work.lane = nil
		f.Completing(dispatch.LayerDisk)
		r.Done(f, r)
		f.Completed(dispatch.LayerDisk)
	}
}

// tell answers who waits for the control slot.
func (l *lane) tell(s *slot) {
	select {
	case s.answer <- struct{}{}:
	default: // nobody has taken the answer before: there is one command at a time
	}
}

// abandon ends what is not at the unit.
func (l *lane) abandon(f *dispatch.Frame) {
	l.pause.Cancel(f)
	l.shelf.forget(l)
	for r := l.queue.pop(); r != nil; r = l.queue.pop() {
		w := &r.work
		w.left = 0
		if w.err == nil {
			w.err = ErrClosed
		}
		if w.slots == 0 {
			l.finish(r)
		}
	}
	for s := l.ready.pop(); s != nil; s = l.ready.pop() {
		l.fail(f, s, ErrClosed, false)
	}
}
