package lun

import (
	"context"

	"minisrp/scsi"
)

// startStop prepares START STOP UNIT (SBC-4 5.31). It waits for what touches blocks; the answer comes when it is done,
// also with IMMED. There is no medium to load or eject, and no power to save, so those bits are refused.
func (s *Server) startStop(t *Task) Verdict {
	c, err := scsi.ParseStartStop(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	t.kind, t.exclusive, t.whole = kindStartStop, true, true
	t.starts, t.fua = c.Start, !c.Start && !c.NoFlush && t.unit.facts.Load().info.Volatile
	return Proceed
}

// workStartStop writes what a unit that stops has not written.
func (u *Unit) workStartStop(ctx context.Context, t *Task) scsi.Sense { return u.last(ctx, t) }
