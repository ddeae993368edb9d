package lun

import "minisrp/scsi"

// allowCommands is the ALLOW COMMANDS code: TEST UNIT READY goes through every reservation, and MODE SENSE, REPORT
// SUPPORTED OPERATION CODES and the like through those that keep writes only.
const allowCommands = 3

// reserveIn prepares PERSISTENT RESERVE IN (SPC-5 6.16). The answer is made when it is carried out.
func (s *Server) reserveIn(t *Task) Verdict {
	c, err := scsi.ParseReserveIn(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	t.kind = kindReserveIn
	t.wanted = int64(c.AllocationLength)
	if t.In = min(uint32(c.AllocationLength), t.InLength, uint32(len(t.unit.reservation.reply))); t.In == 0 {
		t.wanted = 0
		return t.end(scsi.StatusGood)
	}
	return Proceed
}

// report makes the answer.
func (r *reservation) report(t *Task) {
	c, _ := scsi.ParseReserveIn(t.CDB[:])
	b := r.answer(c.Action)
	t.wanted = min(t.wanted, int64(len(b)))
	t.In = min(t.In, uint32(t.wanted))
	if t.trim(t.In) {
		scatter(t.Data, b[:t.In])
	}
}

func (r *reservation) answer(action uint16) []byte {
	h, b := &r.now, r.few[:0]
	if r.tables != &noTables {
		b = r.reply[:0]
	}
	n := uint32(h.count)
	switch action {
	case scsi.SAReadKeys:
		b = scsi.AppendReserveHeader(b, h.generation, 8*n)
		for i := range h.list[:n] {
			b = scsi.AppendKey(b, h.list[i].key)
		}
	case scsi.SAReadReservation:
		if h.kind == 0 {
			return scsi.AppendReserveHeader(b, h.generation, 0)
		}
		d := scsi.Reservation{Type: h.kind}
		if !h.kind.AllHold() {
			d.Key = h.list[h.holder].key
		}
		b = d.Append(scsi.AppendReserveHeader(b, h.generation, scsi.ReservationLength))
	case scsi.SAReportCapabilities:
		c := scsi.ReserveCapabilities{
			Compatible: true, Specified: true, AllPorts: true, PersistCan: r.keeper != nil, PersistIs: h.persist,
			AllowCommands: allowCommands, Types: scsi.AllReservationTypes,
		}
		b = c.Append(b)
	case scsi.SAReadFullStatus:
		b = scsi.AppendReserveHeader(b, h.generation, n*scsi.FullStatusLength)
		for i := range h.list[:n] {
			g := &h.list[i]
			d := scsi.FullStatus{Key: g.key, AllPorts: g.everywhere, Relative: g.relative, Initiator: g.initiator}
			if d.Holder = h.holds(i); d.Holder {
				d.Type = h.kind
			}
			b = d.Append(b)
		}
	}
	return b
}
