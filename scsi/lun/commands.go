package lun

import (
	"encoding/binary"

	"minisrp/scsi"
)

// prepareFunc checks a command's fields against the unit and lays down the task's plan.
//
//level:dispatch noalloc
type prepareFunc func(s *Server, t *Task) Verdict

// command is one command that the server knows. What REPORT SUPPORTED OPERATION CODES says is made of these.
type command struct {
	scsi.Command
	flags    commandFlags
	prepare  prepareFunc
	reserved [scsi.CDBSize / 8]uint64 // bits of a CDB that must be 0
	one      [2][]byte                // REPORT SUPPORTED OPERATION CODES data of this command, without and with time-outs
}

type commandFlags uint16

const (
	absentToo        commandFlags = 1 << iota // also where there is no unit
	lunZeroToo                                // also at LUN 0 without a unit
	wellKnownToo                              // also at the REPORT LUNS well known logical unit
	despiteAttention                          // a pending unit attention does not stop it (SAM-5 5.14)
	changesMedium                             // not on a read-only unit; implies usesMedium
	usesMedium                                // not on a stopped unit
	inStandby                                 // also through a port in standby state
	inUnavailable                             // and in unavailable state
)

// How most commands are.
const (
	reads     = usesMedium
	writes    = usesMedium | changesMedium
	manages   = inStandby
	discovers = inStandby | inUnavailable
)

// table is the commands by operation code. It is fixed after construction.
type table struct {
	all   []command
	first [256]uint8 // index in all of an operation code's first command, plus 1; 0: unknown

	// REPORT SUPPORTED OPERATION CODES data: of all commands, without and with time-outs, and of an unknown one.
	list [2][]byte
	none []byte
}

// newTable makes the table. An operation code's service actions stand together.
func newTable() *table {
	t := &table{}
	t.add(scsi.OpTestUnitReady, 0, usesMedium|wellKnownToo, (*Server).testUnitReady)
	t.add(scsi.OpRequestSense, 0, discovers|absentToo|wellKnownToo|despiteAttention, (*Server).requestSense)
	t.add(scsi.OpRead6, 0, reads, (*Server).readWrite)
	t.add(scsi.OpWrite6, 0, writes, (*Server).readWrite)
	t.add(scsi.OpInquiry, 0, discovers|absentToo|wellKnownToo|despiteAttention, (*Server).inquiry)
	t.add(scsi.OpModeSelect6, 0, manages, (*Server).modeSelect)
	t.add(scsi.OpReserve6, 0, 0, (*Server).legacyReserve)
	t.add(scsi.OpRelease6, 0, 0, (*Server).legacyRelease)
	t.add(scsi.OpModeSense6, 0, manages, (*Server).modeSense)
	t.add(scsi.OpStartStopUnit, 0, 0, (*Server).startStop)
	t.add(scsi.OpReadCapacity10, 0, manages, (*Server).readCapacity10)
	t.add(scsi.OpRead10, 0, reads, (*Server).readWrite)
	t.add(scsi.OpWrite10, 0, writes, (*Server).readWrite)
	t.add(scsi.OpWriteVerify10, 0, writes, (*Server).verify)
	t.add(scsi.OpVerify10, 0, reads, (*Server).verify)
	t.add(scsi.OpPreFetch10, 0, reads, (*Server).preFetch)
	t.add(scsi.OpSynchronizeCache, 0, usesMedium, (*Server).syncCache)
	t.add(scsi.OpWriteSame10, 0, writes, (*Server).writeSame)
	t.add(scsi.OpUnmap, 0, writes, (*Server).unmap)
	t.add(scsi.OpLogSelect, 0, manages, (*Server).logSelect)
	t.add(scsi.OpLogSense, 0, manages, (*Server).logSense)
	t.add(scsi.OpModeSelect10, 0, manages, (*Server).modeSelect)
	t.add(scsi.OpReserve10, 0, 0, (*Server).legacyReserve)
	t.add(scsi.OpRelease10, 0, 0, (*Server).legacyRelease)
	t.add(scsi.OpModeSense10, 0, manages, (*Server).modeSense)
	for sa := scsi.SAReadKeys; sa <= scsi.SAReadFullStatus; sa++ {
		t.add(scsi.OpPersistReserveIn, sa, 0, (*Server).reserveIn)
	}
	for sa := scsi.SARegister; sa <= scsi.SARegisterMove; sa++ {
		t.add(scsi.OpPersistReserveOut, sa, 0, (*Server).reserveOut)
	}
	t.add(scsi.OpVariableLength, scsi.SARead32, reads, (*Server).readWrite)
	t.add(scsi.OpVariableLength, scsi.SAWrite32, writes, (*Server).readWrite)
	t.add(scsi.OpVariableLength, scsi.SAOrWrite32, writes, (*Server).orWrite)
	t.add(scsi.OpRead16, 0, reads, (*Server).readWrite)
	t.add(scsi.OpCompareAndWrite, 0, writes, (*Server).compareAndWrite)
	t.add(scsi.OpWrite16, 0, writes, (*Server).readWrite)
	t.add(scsi.OpOrWrite16, 0, writes, (*Server).orWrite)
	t.add(scsi.OpWriteVerify16, 0, writes, (*Server).verify)
	t.add(scsi.OpVerify16, 0, reads, (*Server).verify)
	t.add(scsi.OpPreFetch16, 0, reads, (*Server).preFetch)
	t.add(scsi.OpSyncCache16, 0, usesMedium, (*Server).syncCache)
	t.add(scsi.OpWriteSame16, 0, writes, (*Server).writeSame)
	t.add(scsi.OpServiceActionIn, scsi.SAReadCapacity16, manages, (*Server).readCapacity16)
	t.add(scsi.OpServiceActionIn, scsi.SAGetLBAStatus16, reads, (*Server).getLBAStatus)
	t.add(scsi.OpReportLUNs, 0, discovers|lunZeroToo|wellKnownToo|despiteAttention, (*Server).reportLUNs)
	t.add(scsi.OpMaintenanceIn, scsi.SAReportTargetGroups, discovers, (*Server).reportGroups)
	t.add(scsi.OpMaintenanceIn, scsi.SAReportSupportedOps, manages, (*Server).reportOpcodes)
	t.add(scsi.OpMaintenanceIn, scsi.SAReportSupportedTMFs, manages, (*Server).reportFunctions)
	t.add(scsi.OpMaintenanceOut, scsi.SASetTargetGroups, discovers, (*Server).setGroups)
	t.add(scsi.OpRead12, 0, reads, (*Server).readWrite)
	t.add(scsi.OpWrite12, 0, writes, (*Server).readWrite)
	t.add(scsi.OpWriteVerify12, 0, writes, (*Server).verify)
	t.add(scsi.OpVerify12, 0, reads, (*Server).verify)
	t.describe()
	return t
}

func (t *table) add(op scsi.Opcode, sa uint16, flags commandFlags, prepare prepareFunc) {
	c, ok := scsi.LookupCommand(op, sa)
	if !ok {
		panic("lun: no usage data for " + op.String())
	}
	var refused scsi.CDB
	for i := 1; i < c.Length; i++ {
		refused[i] = ^c.Usage[i]
	}
	k := command{Command: c, flags: flags, prepare: prepare}
	for i := range k.reserved {
		k.reserved[i] = binary.BigEndian.Uint64(refused[8*i:])
	}
	t.all = append(t.all, k)
	if t.first[op] == 0 {
		t.first[op] = uint8(len(t.all))
	}
}

// find returns the command in cdb, or nil, and whether its operation code at least is known.
func (t *table) find(cdb *scsi.CDB) (c *command, known bool) {
	i := int(t.first[cdb[0]]) - 1
	if i < 0 {
		return nil, false
	}
	if c = &t.all[i]; c.HasServiceAction {
		sa, _ := scsi.ServiceAction(cdb[:])
		c = t.action(c.Opcode, sa)
	}
	return c, true
}

// action returns the command with a service action, or nil.
func (t *table) action(op scsi.Opcode, sa uint16) *command {
	for i := int(t.first[op]) - 1; i >= 0 && i < len(t.all) && t.all[i].Opcode == op; i++ {
		if t.all[i].ServiceAction == sa {
			return &t.all[i]
		}
	}
	return nil
}

// refused returns the first bit of cdb that is set and must not be. CONTROL's bits are among those.
func (c *command) refused(cdb *scsi.CDB) (scsi.FieldPointer, bool) {
	var extra uint64
	for i := range c.reserved[:(c.Length+7)/8] {
		extra |= binary.BigEndian.Uint64(cdb[8*i:]) & c.reserved[i]
	}
	if extra == 0 {
		return scsi.FieldPointer{}, false
	}
	return c.Refused(cdb[:])
}
