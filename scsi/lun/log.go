package lun

import (
	"context"
	"math"

	"minisrp/scsi"
)

// logPages is the log pages of a unit (SPC-5 7.3, SBC-4 6.4), in the order of their codes. That of provisioning is there
// where the store is Metered.
var logPages = [...]uint8{
	scsi.LogSupportedPages, scsi.LogWriteErrors, scsi.LogReadErrors, scsi.LogVerifyErrors, scsi.LogProvisioning,
	scsi.LogTemperature, scsi.LogExceptions,
}

// hasLogPage says whether the unit has a page.
func (u *Unit) hasLogPage(page uint8) bool {
	for _, p := range logPages {
		if p == page {
			return p != scsi.LogProvisioning || u.metered != nil
		}
	}
	return false
}

// logSense prepares LOG SENSE (SPC-5 6.8).
func (s *Server) logSense(t *Task) Verdict {
	c, err := scsi.ParseLogSense(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	u := t.unit
	pagesAndSubpages := c.Page == scsi.LogSupportedPages && c.Subpage == scsi.LogSubpageAll
	switch {
	case c.Subpage != 0 && !pagesAndSubpages:
		return t.badField(3, -1)
	case !u.hasLogPage(c.Page):
		return t.badField(2, 5)
	}
	// A page is made behind its header's place, so that the header can be put before it.
	p := scsi.LogPage{Page: c.Page, Subpage: c.Subpage, DisableSave: c.Page != scsi.LogSupportedPages}
	b := t.small[4:4]
	last := uint16(0) // the last parameter's code
	switch c.Page {
	case scsi.LogSupportedPages:
		for _, page := range logPages {
			if !u.hasLogPage(page) {
				continue
			}
			b = append(b, page)
			if pagesAndSubpages {
				if b = append(b, 0); page == scsi.LogSupportedPages {
					b = append(b, page, scsi.LogSubpageAll)
				}
			}
		}
		c.Pointer = 0
	case scsi.LogWriteErrors, scsi.LogReadErrors, scsi.LogVerifyErrors:
		if c.Control == scsi.LogThreshold || c.Control == scsi.LogDefaultThreshold {
			return t.badField(2, 7) // there are none
		}
		var bytes, errors uint64
		if c.Control == scsi.LogCumulative {
			bytes, errors = u.counted(c.Page)
		}
		if c.Pointer <= scsi.LogTotalBytes {
			b = scsi.AppendLogCounter(b, scsi.LogTotalBytes, bytes)
		}
		b = scsi.AppendLogCounter(b, scsi.LogTotalUncorrected, errors)
		last = scsi.LogTotalUncorrected
	case scsi.LogProvisioning:
		if c.Pointer > scsi.LogUsedResource {
			return t.badField(5, -1)
		}
		t.pointer = c.Pointer
		return t.reportTo(kindSpace, uint32(c.AllocationLength))
	case scsi.LogTemperature: // ffh: there is no sensor
		if c.Pointer == 0 {
			b = append(b, 0, 0, byte(scsi.LogList), 2, 0, 0xff)
		}
		b = append(b, 0, 1, byte(scsi.LogList), 2, 0, 0xff)
		last = 1
	case scsi.LogExceptions:
		code := u.exception()
		b = append(b, 0, 0, byte(scsi.LogList), 4, code.Code(), code.Qualifier(), 0xff, 0)
	}
	if c.Pointer > last {
		return t.badField(5, -1)
	}
	p.Body = b
	return t.answer(p.Append(t.small[:0]), uint32(c.AllocationLength))
}

// counted returns what an error counter page counts, since LOG SELECT has last reset it.
func (u *Unit) counted(page uint8) (bytes, errors uint64) {
	now, then := &u.stats, &u.logged
	switch page {
	case scsi.LogWriteErrors:
		return now.WrittenBytes - then.WrittenBytes, now.WriteErrors - then.WriteErrors
	case scsi.LogReadErrors:
		return now.ReadBytes - then.ReadBytes, now.ReadErrors - then.ReadErrors
	}
	return now.VerifiedBytes - then.VerifiedBytes, now.VerifyErrors - then.VerifyErrors
}

// logSelect prepares LOG SELECT (SPC-5 6.7): it resets counters, and sets none to other values.
func (s *Server) logSelect(t *Task) Verdict {
	c, err := scsi.ParseLogSelect(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	u := t.unit
	all := c.Page == scsi.LogSupportedPages && (c.Subpage == 0 || c.Subpage == scsi.LogSubpageAll)
	switch {
	case c.ParameterListLength != 0:
		return t.badField(7, -1)
	case c.Subpage != 0 && !all:
		return t.badField(3, -1)
	case !u.hasLogPage(c.Page):
		return t.badField(2, 5)
	case !c.Reset:
		return t.end(scsi.StatusGood)
	}
	was := u.logged
	if all || c.Page == scsi.LogWriteErrors {
		u.logged.WrittenBytes, u.logged.WriteErrors = u.stats.WrittenBytes, u.stats.WriteErrors
	}
	if all || c.Page == scsi.LogReadErrors {
		u.logged.ReadBytes, u.logged.ReadErrors = u.stats.ReadBytes, u.stats.ReadErrors
	}
	if all || c.Page == scsi.LogVerifyErrors {
		u.logged.VerifiedBytes, u.logged.VerifyErrors = u.stats.VerifiedBytes, u.stats.VerifyErrors
	}
	if u.logged != was {
		s.caused(t, eventLogs)
	}
	return t.end(scsi.StatusGood)
}

// thresholdExponent is the power of two of blocks in which provisioning is counted: 1 MiB, or more where counts of 32
// bits could not tell the capacity (SBC-4 6.6.7).
func thresholdExponent(blocks uint64, shift uint) uint8 {
	e := uint8(20 - shift)
	for blocks>>e > math.MaxUint32 {
		e++
	}
	return e
}

// workSpace tells what the store takes, and what is left for it and others.
func (u *Unit) workSpace(ctx context.Context, t *Task) scsi.Sense {
	space, err := u.metered.Space(ctx)
	if err != nil {
		return u.senseOf(err, scsi.ASCUnrecoveredRead)
	}
	fc := u.facts.Load()
	set := uint(thresholdExponent(fc.blocks, fc.shift)) + fc.shift
	free := scsi.LogResource{Count: uint32(min(space.Available>>set, math.MaxUint32)), Scope: 2}
	used := scsi.LogResource{Count: uint32(min((space.Used+1<<set-1)>>set, math.MaxUint32)), Scope: 1}
	p := scsi.LogPage{Page: scsi.LogProvisioning, DisableSave: true}
	if t.pointer <= scsi.LogAvailableResource {
		p.Body = free.Append(p.Body, scsi.LogAvailableResource)
	}
	p.Body = used.Append(p.Body, scsi.LogUsedResource)
	t.tell(p.Append(nil))
	return scsi.Sense{}
}

// SpaceLow tells initiators by the unit attention THIN PROVISIONING SOFT THRESHOLD REACHED that the store is about to
// run out of space. A Warner calls it; for other stores whoever watches them does, once each time that comes about, on any
// goroutine.
func (u *Unit) SpaceLow() { u.happened(eventSpace) }
