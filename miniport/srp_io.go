package miniport

import (
	"context"

	"minisrp/scsi"
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
//
//level:dispatch noalloc
func (m *SRP) BuildIO(f *dispatch.Frame, s *SRB) Status {
	f.Assert()
	r := &s.ext.request
	if len(s.Data) > maxSegments || int(s.CDBLength) > len(s.CDB) {
		return StatusInvalidRequest
	}
	for i := range s.Data {
		d := &s.Data[i]
		if d.Region == nil {
			return StatusInvalidRequest
		}
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
//
//level:dispatch noalloc
func (m *SRP) StartIO(f *dispatch.Frame, s *SRB) Verdict {
	f.Assert()
	c := s.path.target.channels[s.lane.ex.index].Load()
	if c == nil {
		return Gone
	}
	f.Starting(dispatch.LayerSRP)
	err := c.Start(f, &s.ext.request)
	f.Started(dispatch.LayerSRP)
	switch err {
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
//
//level:dispatch noalloc
func requestDone(f *dispatch.Frame, r *srp.Request) {
	s := r.Owner.(*SRB)
	switch r.Outcome {
	case srp.Completed:
		s.SCSIStatus = r.Status
		s.Transferred = r.Transferred
		s.SenseLength = uint8(copy(s.sense[:], r.Sense))
		s.Status = StatusError
		if r.Status == scsi.StatusGood || r.Status == scsi.StatusConditionMet {
			s.Status = StatusSuccess
			if r.Flags&(srp.DataOutOver|srp.DataInOver) != 0 {
				s.Status = StatusDataOverrun
			}
		} else if r.Status == scsi.StatusCheckCondition && lunsChanged(r.Sense) {
			s.path.target.rescan()
		}
	case srp.Refused:
		s.Status = StatusInvalidRequest
	default:
		s.Status = StatusBusReset
	}
	s.path.adapter.Complete(f, s)
}

// lunsChanged reports whether sense data says that the target has other units than
// before (SPC-5 4.4: 3Fh/0Eh). The submitter gets it too.
func lunsChanged(sense []byte) bool {
	s, err := scsi.ParseSense(sense)
	return err == nil && s.Key == scsi.KeyUnitAttention && s.ASC == scsi.ASCReportedLUNsChanged
}

// ReleaseIO gives up a request that the target does not have any more. When its channel
// is down it ends with it.
//
//level:dispatch noalloc
func (m *SRP) ReleaseIO(f *dispatch.Frame, s *SRB) { s.ext.channel.Abandon(f, &s.ext.request) }

// AbortTask sends ABORT TASK on the victim's channel.
//
//level:dispatch noalloc
func (m *SRP) AbortTask(f *dispatch.Frame, s *SRB, t *Token) {
	t.task.Victim = &s.ext.request
	m.manage(f, srp.AbortTask, s, t)
}

// ResetUnit sends LOGICAL UNIT RESET on the channel of an SRB: the target has what was
// sent on it before.
//
//level:dispatch noalloc
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

// ResetTarget ends the session; the target is logged in to again afterwards.
//
//level:dispatch noalloc
func (m *SRP) ResetTarget(f *dispatch.Frame, p *Path, t *Token) { p.target.askReset(t) }

// ResetBus does so for every target.
//
//level:dispatch noalloc
func (m *SRP) ResetBus(f *dispatch.Frame, t *Token) {
	m.buses.Push(t)
	m.resetter.Queue(&m.busWork)
}

// runBusReset ends every session, and then the resets that were asked for before.
func (m *SRP) runBusReset(ctx context.Context) {
	k, _ := m.buses.Take()
	var all []*session
	for _, t := range m.Targets() {
		if s := t.session.Load(); s != nil {
			all = append(all, s)
			s.drop.Store(true)
			t.poke()
		}
	}
	ok := true
	for _, s := range all {
		select {
		case <-s.over:
		case <-ctx.Done():
			ok = false
		}
	}
	for k != nil {
		next := k.next
		k.next = nil
		k.Fire(ok)
		k = next
	}
}
