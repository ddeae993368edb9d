package scsi

import "encoding/binary"

// Opcode is the first byte of a CDB.
type Opcode uint8

// Operation codes of the commands a disk needs (SPC-5, SBC-4) and of some that a device server meets
// and refuses by name.
const (
	OpTestUnitReady     Opcode = 0x00
	OpRequestSense      Opcode = 0x03
	OpFormatUnit        Opcode = 0x04
	OpRead6             Opcode = 0x08
	OpWrite6            Opcode = 0x0a
	OpInquiry           Opcode = 0x12
	OpModeSelect6       Opcode = 0x15
	OpReserve6          Opcode = 0x16
	OpRelease6          Opcode = 0x17
	OpModeSense6        Opcode = 0x1a
	OpStartStopUnit     Opcode = 0x1b
	OpSendDiagnostic    Opcode = 0x1d
	OpPreventAllow      Opcode = 0x1e
	OpReadCapacity10    Opcode = 0x25
	OpRead10            Opcode = 0x28
	OpWrite10           Opcode = 0x2a
	OpWriteVerify10     Opcode = 0x2e
	OpVerify10          Opcode = 0x2f
	OpPreFetch10        Opcode = 0x34
	OpSynchronizeCache  Opcode = 0x35
	OpWriteSame10       Opcode = 0x41
	OpUnmap             Opcode = 0x42
	OpLogSelect         Opcode = 0x4c
	OpLogSense          Opcode = 0x4d
	OpModeSelect10      Opcode = 0x55
	OpReserve10         Opcode = 0x56
	OpRelease10         Opcode = 0x57
	OpModeSense10       Opcode = 0x5a
	OpPersistReserveIn  Opcode = 0x5e
	OpPersistReserveOut Opcode = 0x5f
	OpVariableLength    Opcode = 0x7f
	OpExtendedCopy      Opcode = 0x83
	OpReceiveCopy       Opcode = 0x84
	OpRead16            Opcode = 0x88
	OpCompareAndWrite   Opcode = 0x89
	OpWrite16           Opcode = 0x8a
	OpOrWrite16         Opcode = 0x8b
	OpWriteVerify16     Opcode = 0x8e
	OpVerify16          Opcode = 0x8f
	OpPreFetch16        Opcode = 0x90
	OpSyncCache16       Opcode = 0x91
	OpWriteSame16       Opcode = 0x93
	OpWriteAtomic16     Opcode = 0x9c
	OpServiceActionIn   Opcode = 0x9e // SERVICE ACTION IN(16)
	OpReportLUNs        Opcode = 0xa0
	OpSecurityIn        Opcode = 0xa2
	OpMaintenanceIn     Opcode = 0xa3
	OpMaintenanceOut    Opcode = 0xa4
	OpRead12            Opcode = 0xa8
	OpWrite12           Opcode = 0xaa
	OpWriteVerify12     Opcode = 0xae
	OpVerify12          Opcode = 0xaf
	OpSecurityOut       Opcode = 0xb5
)

// Service actions: the command within a shared operation code.
const (
	// Of OpServiceActionIn.
	SAReadCapacity16 uint16 = 0x10
	SAGetLBAStatus16 uint16 = 0x12

	// Of OpMaintenanceIn and OpMaintenanceOut.
	SAReportTargetGroups  uint16 = 0x0a
	SAReportSupportedOps  uint16 = 0x0c
	SAReportSupportedTMFs uint16 = 0x0d
	SASetTargetGroups     uint16 = 0x0a

	// Of OpVariableLength.
	SARead32    uint16 = 0x09
	SAWrite32   uint16 = 0x0b
	SAOrWrite32 uint16 = 0x0e

	// Of OpExtendedCopy, which a device server without third-party copies refuses.
	SAExtendedCopyLID1  uint16 = 0x00
	SAExtendedCopyLID4  uint16 = 0x01
	SAPopulateToken     uint16 = 0x10
	SAWriteUsingToken   uint16 = 0x11
	SACopyOperationStop uint16 = 0x1c

	// Of OpReceiveCopy, likewise.
	SACopyStatusLID1  uint16 = 0x00
	SACopyDataLID1    uint16 = 0x01
	SACopyParameters  uint16 = 0x03
	SACopyFailures    uint16 = 0x04
	SACopyStatusLID4  uint16 = 0x05
	SACopyDataLID4    uint16 = 0x06
	SAReceiveROD      uint16 = 0x07
	SAReportRODTokens uint16 = 0x08
)

var opcodeNames = [256]string{
	OpTestUnitReady:     "TEST UNIT READY",
	OpRequestSense:      "REQUEST SENSE",
	OpFormatUnit:        "FORMAT UNIT",
	OpRead6:             "READ(6)",
	OpWrite6:            "WRITE(6)",
	OpInquiry:           "INQUIRY",
	OpModeSelect6:       "MODE SELECT(6)",
	OpReserve6:          "RESERVE(6)",
	OpRelease6:          "RELEASE(6)",
	OpModeSense6:        "MODE SENSE(6)",
	OpStartStopUnit:     "START STOP UNIT",
	OpSendDiagnostic:    "SEND DIAGNOSTIC",
	OpPreventAllow:      "PREVENT ALLOW MEDIUM REMOVAL",
	OpReadCapacity10:    "READ CAPACITY(10)",
	OpRead10:            "READ(10)",
	OpWrite10:           "WRITE(10)",
	OpWriteVerify10:     "WRITE AND VERIFY(10)",
	OpVerify10:          "VERIFY(10)",
	OpPreFetch10:        "PRE-FETCH(10)",
	OpSynchronizeCache:  "SYNCHRONIZE CACHE(10)",
	OpWriteSame10:       "WRITE SAME(10)",
	OpUnmap:             "UNMAP",
	OpLogSelect:         "LOG SELECT",
	OpLogSense:          "LOG SENSE",
	OpModeSelect10:      "MODE SELECT(10)",
	OpReserve10:         "RESERVE(10)",
	OpRelease10:         "RELEASE(10)",
	OpModeSense10:       "MODE SENSE(10)",
	OpPersistReserveIn:  "PERSISTENT RESERVE IN",
	OpPersistReserveOut: "PERSISTENT RESERVE OUT",
	OpVariableLength:    "VARIABLE LENGTH CDB",
	OpExtendedCopy:      "THIRD-PARTY COPY OUT",
	OpReceiveCopy:       "THIRD-PARTY COPY IN",
	OpRead16:            "READ(16)",
	OpCompareAndWrite:   "COMPARE AND WRITE",
	OpWrite16:           "WRITE(16)",
	OpOrWrite16:         "ORWRITE(16)",
	OpWriteVerify16:     "WRITE AND VERIFY(16)",
	OpVerify16:          "VERIFY(16)",
	OpPreFetch16:        "PRE-FETCH(16)",
	OpSyncCache16:       "SYNCHRONIZE CACHE(16)",
	OpWriteSame16:       "WRITE SAME(16)",
	OpWriteAtomic16:     "WRITE ATOMIC(16)",
	OpServiceActionIn:   "SERVICE ACTION IN(16)",
	OpReportLUNs:        "REPORT LUNS",
	OpSecurityIn:        "SECURITY PROTOCOL IN",
	OpMaintenanceIn:     "MAINTENANCE IN",
	OpMaintenanceOut:    "MAINTENANCE OUT",
	OpRead12:            "READ(12)",
	OpWrite12:           "WRITE(12)",
	OpWriteVerify12:     "WRITE AND VERIFY(12)",
	OpVerify12:          "VERIFY(12)",
	OpSecurityOut:       "SECURITY PROTOCOL OUT",
}

// String returns the standard's name of the operation code, or "opcode 0xNN".
func (o Opcode) String() string {
	if n := opcodeNames[o]; n != "" {
		return n
	}
	return "opcode 0x" + hex2(uint8(o))
}

// actionNames are the commands that share an operation code, by their operation code and service action.
var actionNames = map[Opcode]map[uint16]string{
	OpServiceActionIn: {
		SAReadCapacity16: "READ CAPACITY(16)",
		SAGetLBAStatus16: "GET LBA STATUS(16)",
	},
	OpMaintenanceIn: {
		SAReportTargetGroups:  "REPORT TARGET PORT GROUPS",
		SAReportSupportedOps:  "REPORT SUPPORTED OPERATION CODES",
		SAReportSupportedTMFs: "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
	},
	OpPersistReserveIn: {
		SAReadKeys:           "PERSISTENT RESERVE IN, READ KEYS",
		SAReadReservation:    "PERSISTENT RESERVE IN, READ RESERVATION",
		SAReportCapabilities: "PERSISTENT RESERVE IN, REPORT CAPABILITIES",
		SAReadFullStatus:     "PERSISTENT RESERVE IN, READ FULL STATUS",
	},
	OpPersistReserveOut: {
		SARegister:       "PERSISTENT RESERVE OUT, REGISTER",
		SAReserve:        "PERSISTENT RESERVE OUT, RESERVE",
		SARelease:        "PERSISTENT RESERVE OUT, RELEASE",
		SAClear:          "PERSISTENT RESERVE OUT, CLEAR",
		SAPreempt:        "PERSISTENT RESERVE OUT, PREEMPT",
		SAPreemptAbort:   "PERSISTENT RESERVE OUT, PREEMPT AND ABORT",
		SARegisterIgnore: "PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY",
		SARegisterMove:   "PERSISTENT RESERVE OUT, REGISTER AND MOVE",
		SAReplaceLost:    "PERSISTENT RESERVE OUT, REPLACE LOST RESERVATION",
	},
	OpMaintenanceOut: {
		SASetTargetGroups: "SET TARGET PORT GROUPS",
	},
	OpVariableLength: {
		SARead32:    "READ(32)",
		SAWrite32:   "WRITE(32)",
		SAOrWrite32: "ORWRITE(32)",
	},
	OpExtendedCopy: {
		SAExtendedCopyLID1:  "EXTENDED COPY(LID1)",
		SAExtendedCopyLID4:  "EXTENDED COPY(LID4)",
		SAPopulateToken:     "POPULATE TOKEN",
		SAWriteUsingToken:   "WRITE USING TOKEN",
		SACopyOperationStop: "COPY OPERATION ABORT",
	},
	OpReceiveCopy: {
		SACopyStatusLID1:  "RECEIVE COPY STATUS(LID1)",
		SACopyDataLID1:    "RECEIVE COPY DATA(LID1)",
		SACopyParameters:  "RECEIVE COPY OPERATING PARAMETERS",
		SACopyFailures:    "RECEIVE COPY FAILURE DETAILS(LID1)",
		SACopyStatusLID4:  "RECEIVE COPY STATUS(LID4)",
		SACopyDataLID4:    "RECEIVE COPY DATA(LID4)",
		SAReceiveROD:      "RECEIVE ROD TOKEN INFORMATION",
		SAReportRODTokens: "REPORT ALL ROD TOKENS",
	},
}

// CommandName returns the name of the command in cdb, service action included, for logs. An empty CDB
// gives "no CDB".
func CommandName(cdb []byte) string {
	if len(cdb) == 0 {
		return "no CDB"
	}
	op := Opcode(cdb[0])
	if sa, ok := ServiceAction(cdb); ok {
		if name, ok := actionNames[op][sa]; ok {
			return name
		}
	}
	return op.String()
}

// ServiceAction returns the service action in cdb, and whether its operation code has one among those
// that this package names.
func ServiceAction(cdb []byte) (sa uint16, ok bool) {
	if len(cdb) < 2 {
		return 0, false
	}
	switch Opcode(cdb[0]) {
	case OpServiceActionIn, OpMaintenanceIn, OpMaintenanceOut,
		OpPersistReserveIn, OpPersistReserveOut, OpExtendedCopy, OpReceiveCopy:
		return uint16(cdb[1] & 0x1f), true
	case OpVariableLength:
		if len(cdb) >= 10 {
			return binary.BigEndian.Uint16(cdb[8:10]), true
		}
	}
	return 0, false
}

// CDBLength returns how many bytes the CDB starting at cdb has, by the group code of its operation
// code (SPC-5 4.2.5.1), and false where that cannot be told: no bytes, a reserved or vendor specific
// group, a variable length CDB cut before its length byte. It does not say that cdb holds that many.
func CDBLength(cdb []byte) (n int, ok bool) {
	if len(cdb) == 0 {
		return 0, false
	}
	switch cdb[0] >> 5 {
	case 0:
		return 6, true
	case 1, 2:
		return 10, true
	case 3:
		if Opcode(cdb[0]) == OpVariableLength && len(cdb) >= 8 {
			return 8 + int(cdb[7]), true
		}
	case 4:
		return 16, true
	case 5:
		return 12, true
	}
	return 0, false
}

// Control returns the CONTROL byte of cdb (SAM-5 5.2), zero when the length of cdb is unknown or cdb
// is shorter than that.
func Control(cdb []byte) byte {
	n, ok := CDBLength(cdb)
	if !ok || n > len(cdb) {
		return 0
	}
	if Opcode(cdb[0]) == OpVariableLength {
		return cdb[1]
	}
	return cdb[n-1]
}

// ControlNACA is the bit of the CONTROL byte that asks for an auto contingent allegiance condition
// after CHECK CONDITION. A logical unit whose INQUIRY data has NORMACA clear refuses it.
const ControlNACA byte = 0x04
