package miniport

import (
	"context"
	"fmt"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Exec submits an SRB and waits for it: for Passive code that needs a command now
// and then. The SRB's Done is set by it. When ctx ends first it still waits for the
// SRB, whose memory it cannot give back before, and which its own deadline bounds.
func (u *Unit) Exec(ctx context.Context, s *SRB) error {
	done := make(chan struct{})
	s.Done = func(*dispatch.Frame, *SRB) { close(done) }
	var f dispatch.Frame
	u.lanes[0].ex.proc.Raise(&f)
	u.Submit(&f, s)
	f.Lower()
	<-done
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Err()
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
	switch s.Status {
	case StatusSuccess:
		return nil
	case StatusError, StatusBusy:
		e := &scsi.SenseError{Status: s.SCSIStatus}
		if sense, err := scsi.ParseSense(s.Sense()); err == nil {
			e.HasSense, e.Sense = true, sense
		}
		return &SRBError{scsi.CommandName(s.CDB[:min(int(s.CDBLength), len(s.CDB))]), s.Status, e}
	}
	return &SRBError{scsi.CommandName(s.CDB[:min(int(s.CDBLength), len(s.CDB))]), s.Status, nil}
}
