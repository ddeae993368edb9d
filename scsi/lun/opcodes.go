package lun

import "minisrp/scsi"

// describe makes the data of REPORT SUPPORTED OPERATION CODES. Time-outs are not known, and the descriptors say so.
func (t *table) describe() {
	for with := range t.list {
		timeouts := with == 1
		var entries []byte
		for i := range t.all {
			c := &t.all[i]
			e := scsi.SupportedCommand{
				Opcode: c.Opcode, HasServiceAction: c.HasServiceAction, ServiceAction: c.ServiceAction,
				Length: uint16(c.Length), HasTimeouts: timeouts,
			}
			entries = e.Append(entries)
			one := scsi.OneCommand{Support: scsi.SupportStandard, Usage: c.Usage[:c.Length], HasTimeouts: timeouts}
			c.one[with] = one.Append(nil)
		}
		t.list[with] = append(scsi.AppendSupportedHeader(nil, uint32(len(entries))), entries...)
	}
	none := scsi.OneCommand{Support: scsi.SupportNone}
	t.none = none.Append(nil)
}

// reportOpcodes prepares REPORT SUPPORTED OPERATION CODES (SPC-5 6.34).
func (s *Server) reportOpcodes(t *Task) Verdict {
	c, err := scsi.ParseReportSupported(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	with := 0
	if c.Timeouts {
		with = 1
	}
	if c.Options == scsi.ReportAllCommands {
		return t.answer(s.commands.list[with], c.AllocationLength)
	}
	found, hasActions := s.commands.named(c.Opcode, c.ServiceAction)
	switch c.Options {
	case scsi.ReportByOpcode:
		if hasActions {
			return t.badField(2, 2)
		}
	case scsi.ReportByAction:
		if found != nil && !hasActions {
			return t.badField(2, 2)
		}
	case scsi.ReportByOpcodeAction:
		if !hasActions && c.ServiceAction != 0 {
			found = nil
		}
	default:
		return t.badField(2, 2)
	}
	if found == nil {
		return t.answer(s.commands.none, c.AllocationLength)
	}
	return t.answer(found.one[with], c.AllocationLength)
}

// named returns the command with an operation code, and service action where it has them, or nil.
func (t *table) named(op scsi.Opcode, sa uint16) (c *command, hasActions bool) {
	i := int(t.first[op]) - 1
	if i < 0 {
		return nil, false
	}
	if c = &t.all[i]; c.HasServiceAction {
		return t.action(op, sa), true
	}
	return c, false
}
