package scsi

import "encoding/binary"

// ReportFunctions is the REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS command (SPC-5 6.36).
type ReportFunctions struct {
	Extended         bool   // REPD: 16 bytes with time-outs, otherwise 4
	AllocationLength uint32 // at least 4
}

// Put writes the command and returns its length.
func (c *ReportFunctions) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpMaintenanceIn), 1: byte(SAReportSupportedTMFs), 2: bit(c.Extended, 7)}
	binary.BigEndian.PutUint32(cdb[6:10], c.AllocationLength)
	return 12
}

// ParseReportFunctions decodes a REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS CDB. Errors: ErrShort, ErrFormat.
func ParseReportFunctions(cdb []byte) (c ReportFunctions, err error) {
	if err := checkAction(cdb, OpMaintenanceIn, SAReportSupportedTMFs); err != nil {
		return c, err
	}
	return ReportFunctions{cdb[2]&0x80 != 0, binary.BigEndian.Uint32(cdb[6:10])}, nil
}

// Functions says which task management functions a unit knows.
type Functions struct {
	AbortTask, AbortTaskSet, ClearACA, ClearTaskSet bool
	UnitReset, QueryTask                            bool
	QueryAsync, QueryTaskSet, NexusReset            bool
}

// Append adds the parameter data to b, 4 bytes or, extended, 16; the time-outs are not said.
func (p *Functions) Append(b []byte, extended bool) []byte {
	b = append(b,
		bit(p.AbortTask, 7)|bit(p.AbortTaskSet, 6)|bit(p.ClearACA, 5)|bit(p.ClearTaskSet, 4)|bit(p.UnitReset, 3)|bit(p.QueryTask, 2),
		bit(p.QueryAsync, 2)|bit(p.QueryTaskSet, 1)|bit(p.NexusReset, 0), 0, 0)
	if extended {
		b[len(b)-1] = 12
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	return b
}

var errFunctionsShort = shortError("REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS data")

// ParseFunctions decodes the parameter data. Errors: ErrShort below two bytes.
func ParseFunctions(b []byte) (p Functions, err error) {
	if len(b) < 2 {
		return p, errFunctionsShort
	}
	return Functions{
		AbortTask: b[0]&0x80 != 0, AbortTaskSet: b[0]&0x40 != 0, ClearACA: b[0]&0x20 != 0, ClearTaskSet: b[0]&0x10 != 0,
		UnitReset: b[0]&0x08 != 0, QueryTask: b[0]&0x04 != 0,
		QueryAsync: b[1]&0x04 != 0, QueryTaskSet: b[1]&0x02 != 0, NexusReset: b[1]&0x01 != 0,
	}, nil
}
