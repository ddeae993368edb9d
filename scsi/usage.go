package scsi

import "math/bits"

// Command describes a command that this package encodes: which bits of its CDB mean something.
type Command struct {
	Opcode           Opcode
	HasServiceAction bool
	ServiceAction    uint16
	Length           int // of the CDB in bytes
	Usage            CDB // CDB usage data (SPC-5 6.34.3); bytes from Length on are zero
}

// LookupCommand returns the command with this operation code, and service action where the operation code
// has them. Its usage data is that of a disk without protection information, anchored blocks, NACA,
// removable media, power conditions and saved log parameters: those bits are clear. Known are the commands this package has a type for; false for any other.
func LookupCommand(op Opcode, serviceAction uint16) (Command, bool) {
	c := Command{Opcode: op}
	c.Length, _ = CDBLength([]byte{byte(op)})
	switch op {
	case OpTestUnitReady:
		c.Usage = CDB{}
	case OpRequestSense:
		c.Usage = CDB{1: 0x01, 4: 0xff}
	case OpInquiry:
		c.Usage = CDB{1: 0x01, 2: 0xff, 3: 0xff, 4: 0xff}
	case OpModeSense6:
		c.Usage = CDB{1: 0x08, 2: 0xff, 3: 0xff, 4: 0xff}
	case OpModeSense10:
		c.Usage = CDB{1: 0x18, 2: 0xff, 3: 0xff, 7: 0xff, 8: 0xff}
	case OpModeSelect6:
		c.Usage = CDB{1: 0x11, 4: 0xff}
	case OpModeSelect10:
		c.Usage = CDB{1: 0x11, 7: 0xff, 8: 0xff}
	case OpLogSense:
		c.Usage = CDB{2: 0xff, 3: 0xff, 5: 0xff, 6: 0xff, 7: 0xff, 8: 0xff}
	case OpLogSelect:
		c.Usage = CDB{1: 0x02, 2: 0xff, 3: 0xff, 7: 0xff, 8: 0xff}
	case OpStartStopUnit:
		c.Usage = CDB{1: 0x01, 4: 0x05}
	case OpReadCapacity10:
		c.Usage = CDB{}
	case OpReportLUNs:
		c.Usage = CDB{2: 0xff, 6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff}
	case OpRead6, OpWrite6:
		c.Usage = CDB{1: 0x1f, 2: 0xff, 3: 0xff, 4: 0xff}
	case OpRead10, OpWrite10:
		c.Usage = usage10(0x18)
	case OpRead12, OpWrite12:
		c.Usage = usage12(0x18)
	case OpRead16, OpWrite16:
		c.Usage = usage16(0x18)
	case OpSynchronizeCache:
		c.Usage = usage10(0x02)
	case OpSyncCache16:
		c.Usage = usage16(0x02)
	case OpWriteSame10:
		c.Usage = usage10(0x08)
	case OpWriteSame16:
		c.Usage = usage16(0x09)
	case OpVerify10:
		c.Usage = usage10(0x16)
	case OpWriteVerify10:
		c.Usage = usage10(0x12)
	case OpVerify12:
		c.Usage = usage12(0x16)
	case OpWriteVerify12:
		c.Usage = usage12(0x12)
	case OpVerify16:
		c.Usage = usage16(0x16)
	case OpWriteVerify16:
		c.Usage = usage16(0x12)
	case OpCompareAndWrite:
		c.Usage = usage16(0x18)
		c.Usage[10], c.Usage[11], c.Usage[12] = 0, 0, 0
	case OpOrWrite16:
		c.Usage = usage16(0x18)
	case OpPreFetch10:
		c.Usage = usage10(0x02)
	case OpPreFetch16:
		c.Usage = usage16(0x02)
	case OpUnmap:
		c.Usage = CDB{6: 0x3f, 7: 0xff, 8: 0xff}
	case OpServiceActionIn:
		switch serviceAction {
		case SAReadCapacity16:
			c.Usage = CDB{10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff}
		case SAGetLBAStatus16:
			c.Usage = usage16(0)
			c.Usage[14] = 0xff
		default:
			return Command{}, false
		}
		c.HasServiceAction, c.ServiceAction = true, serviceAction
		c.Usage[1] = byte(serviceAction)
	case OpVariableLength:
		switch serviceAction {
		case SARead32, SAWrite32:
			c.Usage = usage32(0x18)
		case SAOrWrite32:
			c.Usage = usage32(0x18)
			c.Usage[2], c.Usage[3] = 0x07, 0x0f
			for i := 20; i < 28; i++ {
				c.Usage[i] = 0xff
			}
		default:
			return Command{}, false
		}
		c.Length = 32
		c.HasServiceAction, c.ServiceAction = true, serviceAction
		c.Usage[7], c.Usage[8], c.Usage[9] = additional32, byte(serviceAction>>8), byte(serviceAction)
	case OpMaintenanceIn:
		c.Usage = CDB{6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff}
		switch serviceAction {
		case SAReportSupportedOps:
			c.Usage[2], c.Usage[3], c.Usage[4], c.Usage[5] = 0x87, 0xff, 0xff, 0xff
		case SAReportSupportedTMFs:
			c.Usage[2] = 0x80
		case SAReportTargetGroups:
			c.Usage[1] = 0xe0
		default:
			return Command{}, false
		}
		c.HasServiceAction, c.ServiceAction = true, serviceAction
		c.Usage[1] |= byte(serviceAction)
	case OpReserve6, OpRelease6, OpReserve10, OpRelease10:
		c.Usage = CDB{} // of the whole unit, for the sender
	case OpPersistReserveIn:
		if serviceAction > lastReserveIn {
			return Command{}, false
		}
		c.Usage = CDB{1: byte(serviceAction), 7: 0xff, 8: 0xff}
		c.HasServiceAction, c.ServiceAction = true, serviceAction
	case OpPersistReserveOut:
		if serviceAction > lastReserveOut {
			return Command{}, false
		}
		c.Usage = CDB{1: byte(serviceAction), 2: 0xff, 5: 0xff, 6: 0xff, 7: 0xff, 8: 0xff}
		c.HasServiceAction, c.ServiceAction = true, serviceAction
	case OpMaintenanceOut:
		if serviceAction != SASetTargetGroups {
			return Command{}, false
		}
		c.Usage = CDB{1: byte(serviceAction), 6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff}
		c.HasServiceAction, c.ServiceAction = true, serviceAction
	default:
		return Command{}, false
	}
	c.Usage[0] = byte(op)
	return c, true
}

func usage10(flags byte) CDB {
	return CDB{1: flags, 2: 0xff, 3: 0xff, 4: 0xff, 5: 0xff, 6: 0x3f, 7: 0xff, 8: 0xff}
}

func usage12(flags byte) CDB {
	return CDB{1: flags, 2: 0xff, 3: 0xff, 4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff, 10: 0x3f}
}

func usage16(flags byte) CDB {
	return CDB{1: flags, 2: 0xff, 3: 0xff, 4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff,
		10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff, 14: 0x3f}
}

// usage32 is that of a variable length CDB, without what length and service action take. The tags for protection
// information stay clear.
func usage32(flags byte) CDB {
	return CDB{6: 0x3f, 10: flags, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff, 16: 0xff, 17: 0xff, 18: 0xff, 19: 0xff,
		28: 0xff, 29: 0xff, 30: 0xff, 31: 0xff}
}

// Refused returns the first bit set in cdb that the command does not evaluate, which a device server may
// refuse with ASCInvalidFieldInCDB and this field pointer; false where there is none. A cdb shorter than
// the command is compared as far as it goes.
func (c *Command) Refused(cdb []byte) (p FieldPointer, found bool) {
	n := min(len(cdb), c.Length, CDBSize)
	for i := 1; i < n; i++ {
		if extra := cdb[i] &^ c.Usage[i]; extra != 0 {
			return FieldPointer{Byte: uint16(i), Bit: int8(bits.Len8(extra) - 1)}, true
		}
	}
	return FieldPointer{}, false
}
