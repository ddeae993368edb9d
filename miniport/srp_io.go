package miniport

import (
	"sync/atomic"

	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// extension is the SRP miniport's part of an SRB.
type extension struct {
	request  srp.Request
	channel  *srp.Channel // that the request was sent on
	segments [maxSegments]srp.Segment
}

// maxSegments is how many pieces of memory one SRB can have.
const maxSegments = 16

// Initialize has nothing left to do: targets log in on their own.
func (m *SRP) Initialize(f *dispatch.Frame) error { return nil }

// BuildIO fills in the SRB's request and its segments.
func (m *SRP) BuildIO(f *dispatch.Frame, s *SRB) Status {
	r := &s.ext.request
	if len(s.Data) > maxSegments || int(s.CDBLength) > len(s.CDB) {
		return StatusInvalidRequest
	}
	for i := range s.Data {
		d := &s.Data[i]
		reg := d.Region.on(m.adapter)
		if reg == nil || d.Offset > d.Region.Size() || uint64(d.Length) > d.Region.Size()-d.Offset {
			return StatusInvalidRequest
		}
		g := &s.ext.segments[i]
		g.Addr, g.Length, g.LKey, g.RKey = d.Region.arena.Addr()+d.Offset, d.Length, reg.LKey, reg.RKey
		if m.config.Protect == srp.ProtectBounce {
			g.Mem = d.Bytes()
		}
	}
	r.Segments = s.ext.segments[:len(s.Data)]
	r.LUN = s.path.lun
	r.CDB = s.CDB[:s.CDBLength]
	r.Attribute = s.Attribute
	r.Direction = srp.Direction(s.Direction)
	r.Length = s.Length
	r.Owner = s
	r.Done = requestDone
	return StatusPending
}

// StartIO sends the request on the lane's channel.
func (m *SRP) StartIO(f *dispatch.Frame, s *SRB) Verdict {
	c := s.path.target.channels[s.lane.ex.index].Load()
	if c == nil {
		return Gone
	}
	switch err := c.Start(f, &s.ext.request); err {
	case nil:
		s.ext.channel = c
		return Pending
	case srp.ErrBusy:
		return Busy
	case srp.ErrDown:
		return Gone
	default:
		return Refused
	}
}

// requestDone turns what the channel says into the SRB's result.
func requestDone(f *dispatch.Frame, r *srp.Request) {
	s := r.Owner.(*SRB)
	switch r.Outcome {
	case srp.Completed:
		s.SCSIStatus = r.Status
		s.Transferred = r.Transferred
		s.SenseLength = uint8(copy(s.sense[:], r.Sense))
		s.Status = StatusError
		if r.Status == 0 {
			s.Status = StatusSuccess
			if r.Flags&(srp.DataOutOver|srp.DataInOver) != 0 {
				s.Status = StatusDataOverrun
			}
		}
	case srp.Refused:
		s.Status = StatusInvalidRequest
	default:
		s.Status = StatusBusReset
	}
	s.path.adapter.Complete(f, s)
}

// ReleaseIO gives up a request that the target does not have any more. When its channel
// is down it ends with it.
func (m *SRP) ReleaseIO(f *dispatch.Frame, s *SRB) { s.ext.channel.Abandon(f, &s.ext.request) }

// AbortTask sends ABORT TASK on the victim's channel.
func (m *SRP) AbortTask(f *dispatch.Frame, s *SRB, t *Token) {
	t.task.Victim = &s.ext.request
	m.manage(f, srp.AbortTask, s, t)
}

// ResetUnit sends LOGICAL UNIT RESET on the channel of an SRB: the target has what was
// sent on it before.
func (m *SRP) ResetUnit(f *dispatch.Frame, s *SRB, t *Token) {
	t.task.Victim = nil
	m.manage(f, srp.LogicalUnitReset, s, t)
}

// manage sends a task management function to an SRB's unit, on its channel, which has
// not ended while it has the SRB.
func (m *SRP) manage(f *dispatch.Frame, fn srp.TaskFunction, s *SRB, t *Token) {
	t.task.Function, t.task.LUN = fn, s.path.lun
	if err := s.ext.channel.Manage(f, &t.task); err != nil {
		// A victim that is not outstanding any more has been completed, or is about to be.
		t.Fire(err == srp.ErrNotOutstanding)
	}
}

// ResetTarget ends the session and logs in again.
func (m *SRP) ResetTarget(f *dispatch.Frame, p *Path, t *Token) {
	p.target.resets.Push(t)
	p.target.poke()
}

// ResetBus does so for every target.
func (m *SRP) ResetBus(f *dispatch.Frame, t *Token) {
	if !m.bus.token.CompareAndSwap(nil, t) {
		t.Fire(false) // another unit's is under way
		return
	}
	targets := *m.targets.Load()
	m.bus.failed.Store(false)
	m.bus.left.Store(int32(len(targets)) + 1)
	for _, o := range targets {
		o.busReset.Store(true)
		o.poke()
	}
	m.bus.ended(true)
}

// busReset is a reset of all targets that is under way.
type busReset struct {
	token  atomic.Pointer[Token]
	left   atomic.Int32
	failed atomic.Bool
}

// ended counts a target out; the last one fires the token.
func (b *busReset) ended(ok bool) {
	if !ok {
		b.failed.Store(true)
	}
	if b.left.Add(-1) == 0 {
		b.token.Swap(nil).Fire(!b.failed.Load())
	}
}
