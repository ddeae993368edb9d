package lun

import "minisrp/scsi"

// answer plans to hand out b, cut to the allocation length.
func (t *Task) answer(b []byte, allocation uint32) Verdict {
	t.kind = kindReply
	t.reply = b[:min(uint64(len(b)), uint64(allocation))]
	t.wanted = int64(len(t.reply))
	if t.In = min(uint32(len(t.reply)), t.InLength); t.In == 0 {
		return t.end(scsi.StatusGood)
	}
	return Proceed
}

// testUnitReady prepares TEST UNIT READY (SPC-5 6.47). What could stand against it was looked at before.
func (s *Server) testUnitReady(t *Task) Verdict { return t.end(scsi.StatusGood) }

// requestSense prepares REQUEST SENSE (SPC-5 6.39): a unit attention that waits is handed out and cleared.
func (s *Server) requestSense(t *Task) Verdict {
	c, err := scsi.ParseRequestSense(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	sense := scsi.Sense{Descriptor: c.Descriptor}
	switch t.place {
	case placeAbsent:
		sense.Key, sense.ASC = scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported
	case placeUnit:
		if v := s.view.Load(); v.slots[t.Slot].unit == t.unit {
			if code := t.Nexus.attend(v, t.Slot); code != 0 {
				sense.Key, sense.ASC = scsi.KeyUnitAttention, code
				break
			}
		}
		sense.Key, sense.ASC = s.polled(t)
	}
	n := sense.Put(t.small[:])
	return t.answer(t.small[:n], uint32(c.AllocationLength))
}

// polled returns what REQUEST SENSE says of a unit that has no unit attention.
func (s *Server) polled(t *Task) (scsi.SenseKey, scsi.ASC) {
	u := t.unit
	code := s.inaccessible(t, &command{})
	switch {
	case code != 0:
		return scsi.KeyNotReady, code
	case u.stopped:
		return scsi.KeyNotReady, scsi.ASCNotReadyInitializing
	case u.modes.means.exceptions.Method == scsi.ExceptionsOnRequest:
		return scsi.KeyNoSense, u.exception()
	}
	return scsi.KeyNoSense, scsi.ASCNone
}

// inquiry prepares INQUIRY (SPC-5 6.7). Where there is no unit, the standard data say so.
func (s *Server) inquiry(t *Task) Verdict {
	c, err := scsi.ParseInquiry(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	if !c.EVPD && c.Page != 0 {
		return t.badField(2, -1)
	}
	switch {
	case c.EVPD && t.place == placeAbsent:
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
	case t.place == placeAbsent:
		return t.answer(s.noUnit, uint32(c.AllocationLength))
	case c.EVPD && t.place == placeWellKnown:
		return t.badField(2, -1)
	case t.place == placeWellKnown:
		return t.answer(s.wellKnown, uint32(c.AllocationLength))
	}
	fc := t.unit.facts.Load()
	t.away = t.unit.access.Load().state(s.port.Group) == scsi.AccessUnavailable
	if c.EVPD && c.Page == scsi.VPDIdentification {
		if sl := &s.view.Load().slots[t.Slot]; sl.unit == t.unit {
			return t.answer(sl.identification, uint32(c.AllocationLength))
		}
	}
	if !c.EVPD {
		return t.answer(fc.inquiry, uint32(c.AllocationLength))
	}
	for i := range fc.pages {
		if fc.pages[i].code == c.Page {
			return t.answer(fc.pages[i].data, uint32(c.AllocationLength))
		}
	}
	return t.badField(2, -1)
}

// reportLUNs prepares REPORT LUNS (SPC-5 6.33).
func (s *Server) reportLUNs(t *Task) Verdict {
	c, err := scsi.ParseReportLUNs(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	v := s.view.Load()
	switch {
	case int(c.Select) >= len(v.lists):
		return t.badField(2, -1)
	case c.AllocationLength < 16:
		return t.badField(6, -1)
	}
	t.Nexus.list(v)
	return t.answer(v.lists[c.Select], c.AllocationLength)
}
