package miniport

import (
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Complete takes a started SRB back from the miniport, which has set the result and
// does not touch it again. Exactly once for each StartIO that said Pending, when
// remote access to the SRB's data has become impossible.
// Level: Dispatch, on the lane's processor.
//
//level:dispatch noalloc
func (a *Adapter) Complete(f *dispatch.Frame, s *SRB) {
	l := s.lane
	if s.stage < stageStarted {
		panic("miniport: an SRB was completed that is not started")
	}
	l.ex.wheel.cancel(s)
	l.unlink(s)
	l.unit.completed.Add(1)
	again := l.settle(f, s)
	l.unit.leave(f)
	if !again {
		l.done(f, s)
	}
	l.restart(f)
}

func (l *lane) unlink(s *SRB) {
	if s.prev != nil {
		s.prev.nextOut = s.nextOut
	} else {
		l.out = s.nextOut
	}
	if s.nextOut != nil {
		s.nextOut.prev = s.prev
	}
	s.prev, s.nextOut = nil, nil
	if l.outN--; l.outN == 0 && l.onIdle != nil {
		close(l.onIdle)
		l.onIdle = nil
	}
}

// settle decides what a result means. It reports true when the SRB is to be tried
// again, and is back in the queue.
func (l *lane) settle(f *dispatch.Frame, s *SRB) (again bool) {
	u := l.unit
	if s.stage != stageStarted {
		l.ex.forgetAborts(s)
		if s.escalated {
			s.escalated = false
			u.ladder.stuck.Add(-1)
		}
		if s.Status == StatusBusReset && s.timedOut {
			s.Status = StatusTimeout
		}
		s.timedOut = false
	}
	if s.Status == StatusSuccess {
		u.grow()
		return false
	}
	if s.Status != StatusError {
		return false
	}
	switch s.SCSIStatus {
	case scsi.StatusBusy:
		l.pause.Arm(f, busyPause)
	case scsi.StatusTaskSetFull:
		u.queueFull.Add(1)
		u.shrink()
		if l.outN == 0 {
			l.pause.Arm(f, busyPause)
		} else {
			l.waitBelow = l.outN - max(1, l.outN/queueFullPart)
		}
	default:
		return false
	}
	if s.retries++; s.retries > busyRetries || u.doomed() || s.dropped.Load() {
		s.Status = StatusBusy
		return false
	}
	s.reset()
	s.stage = stageQueued
	s.path = nil
	l.queue.pushFront(s)
	return true
}

// reset clears an SRB's result.
func (s *SRB) reset() {
	s.Status, s.SCSIStatus, s.Transferred, s.SenseLength = StatusPending, 0, 0, 0
}
