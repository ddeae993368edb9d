package disk

import "sync/atomic"

// OpCounters are the figures of one operation.
type OpCounters struct {
	Ops    uint64 // requests that have ended
	Bytes  uint64 // of those that ended well
	Errors uint64 // requests that ended with an error
}

// Counters are a disk's figures since Open.
type Counters struct {
	Read, Write, Flush, Unmap, WriteZeroes, Status, Prefetch OpCounters

	Waits     uint64 // requests that found no slot free
	Commands  uint64 // SRBs submitted
	Completed uint64 // SRBs that came back: equal to Commands when nothing is under way

	// Of Completed, those that did not end well, by what became of them.
	Failed        uint64 // not tried again
	Refused       uint64 // the unit did not know the form; said otherwise where there is another
	Attention     uint64 // tried again, as all that follow, as long as the policy allows it
	NotReady      uint64
	Busy          uint64
	Aborted       uint64
	Communication uint64 // the target could not reach the unit
	Reset         uint64
	Timeout       uint64
	Unclear       uint64
	Medium        uint64
	Deferred      uint64 // told an earlier command's error
}

// counters are a lane's share.
type counters struct {
	ops      [Ops]opCounters
	waits    atomic.Uint64
	commands atomic.Uint64
	classes  [classes]atomic.Uint64
}

type opCounters struct{ ops, bytes, errors atomic.Uint64 }

// finished counts a request that has ended.
func (c *counters) finished(r *Request) {
	if int(r.Op) >= len(c.ops) {
		return
	}
	o := &c.ops[r.Op]
	o.ops.Add(1)
	switch {
	case r.Err != nil:
		o.errors.Add(1)
	case r.Op != Flush:
		o.bytes.Add(r.Length)
	}
}

// Counters returns the figures. Those of different kinds are not of the same moment. Level: both.
func (d *Disk) Counters() Counters {
	var t Counters
	for _, l := range d.lanes {
		c := &l.counters
		for op, to := range [...]*OpCounters{
			Read: &t.Read, Write: &t.Write, Flush: &t.Flush, Unmap: &t.Unmap, WriteZeroes: &t.WriteZeroes,
			Status: &t.Status, Prefetch: &t.Prefetch,
		} {
			to.Ops += c.ops[op].ops.Load()
			to.Bytes += c.ops[op].bytes.Load()
			to.Errors += c.ops[op].errors.Load()
		}
		t.Waits += c.waits.Load()
		for class, to := range [...]*uint64{
			classFatal: &t.Failed, classRefused: &t.Refused, classAttention: &t.Attention, classNotReady: &t.NotReady,
			classBusy: &t.Busy, classAborted: &t.Aborted, classLink: &t.Communication, classReset: &t.Reset,
			classTimeout: &t.Timeout, classUnclear: &t.Unclear, classMedium: &t.Medium, classDeferred: &t.Deferred,
		} {
			n := c.classes[class].Load()
			t.Completed += n
			if to != nil {
				*to += n
			}
		}
		t.Commands += c.commands.Load()
	}
	return t
}
