package lun

import "minisrp/scsi"

// reportFunctions prepares REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS (SPC-5 6.36): those of Function. The time-outs are
// not known.
func (s *Server) reportFunctions(t *Task) Verdict {
	c, err := scsi.ParseReportFunctions(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	if c.AllocationLength < 4 {
		return t.badField(6, -1)
	}
	known := scsi.Functions{AbortTask: true, AbortTaskSet: true, ClearTaskSet: true, UnitReset: true}
	return t.answer(known.Append(t.small[:0], c.Extended), c.AllocationLength)
}
