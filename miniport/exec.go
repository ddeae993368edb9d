package miniport

import (
	"context"
	"fmt"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Exec submits an SRB and waits for it: for Passive code that needs a command now
// and then. The SRB's Done is set by it. When ctx ends first, an SRB that is still queued
// is taken back; one that is at the unit is waited for, as its memory cannot be given
// back before, and its own deadline bounds that. Another goroutine must run the
// processors. Errors: *SRBError; ctx's when the SRB was taken back.
func (u *Unit) Exec(ctx context.Context, s *SRB) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	s.Done = func(*dispatch.Frame, *SRB) { close(done) }
	s.dropped.Store(false)
	var f dispatch.Frame
	u.lanes[0].ex.proc.Raise(&f)
	u.Submit(&f, s)
	f.Lower()
	select {
	case <-done:
		return s.Err()
	case <-ctx.Done():
	}
	s.dropped.Store(true)
	u.dropping.Add(1)
	u.kick()
	<-done
	u.dropping.Add(-1)
	if s.Status.NotExecuted() {
		return ctx.Err()
	}
	return s.Err()
}

// drop completes those of the lane's queue that Exec does not wait for any more.
func (l *lane) drop(f *dispatch.Frame) {
	var kept, dropped srbList
	for s := l.queue.pop(); s != nil; s = l.queue.pop() {
		if s.dropped.Load() {
			s.Status = StatusFlushed
			dropped.push(s)
		} else {
			kept.push(s)
		}
	}
	l.queue = kept
	l.tell(f, dropped)
}

// SRBError is an SRB that did not succeed. Unwrap gives a *scsi.SenseError when the
// unit has answered.
type SRBError struct {
	Command string // the CDB's name
	Status  Status
	Err     error // nil, or the unit's answer
}

func (e *SRBError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Command, e.Status)
}

func (e *SRBError) Unwrap() error { return e.Err }

// Err returns nil for success and an *SRBError else. It allocates; not for the data
// path.
func (s *SRB) Err() error {
	if s.Status == StatusSuccess {
		return nil
	}
	e := &SRBError{Command: scsi.CommandName(s.CDB[:min(int(s.CDBLength), len(s.CDB))]), Status: s.Status}
	if s.Status == StatusError || s.Status == StatusBusy {
		answer := &scsi.SenseError{Status: s.SCSIStatus}
		if sense, err := scsi.ParseSense(s.Sense()); err == nil {
			answer.HasSense, answer.Sense = true, sense
		}
		e.Err = answer
	}
	return e
}
