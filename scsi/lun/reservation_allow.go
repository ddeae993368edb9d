package lun

import "minisrp/scsi"

// need is what a command needs of a reservation that another nexus holds (SPC-5 table 66, SBC-4 table 13).
type need uint8

const (
	needNotShutOut need = iota // only for who is not shut out
	needRead                   // also where only writes are kept for the holder
	needNothing                // also where nothing is let in
	needOwn                    // the command itself looks at reservations
)

// needOf returns what a command needs. What is not named changes something, or is not known to be harmless.
func needOf(cdb *scsi.CDB) need {
	switch op := scsi.Opcode(cdb[0]); op {
	case scsi.OpInquiry, scsi.OpReportLUNs, scsi.OpRequestSense, scsi.OpTestUnitReady, scsi.OpLogSense, scsi.OpReadCapacity10:
		return needNothing
	case scsi.OpRead6, scsi.OpRead10, scsi.OpRead12, scsi.OpRead16, scsi.OpVerify10, scsi.OpVerify12, scsi.OpVerify16,
		scsi.OpPreFetch10, scsi.OpPreFetch16, scsi.OpModeSense6, scsi.OpModeSense10, scsi.OpSecurityIn:
		return needRead
	case scsi.OpPersistReserveIn, scsi.OpPersistReserveOut, scsi.OpReserve6, scsi.OpReserve10, scsi.OpRelease6, scsi.OpRelease10:
		return needOwn
	case scsi.OpStartStopUnit:
		if cdb[4] == 1 { // START, and no power condition
			return needNothing
		}
	case scsi.OpServiceActionIn:
		if uint16(cdb[1]&0x1f) == scsi.SAReadCapacity16 {
			return needNothing
		}
		return needRead
	case scsi.OpMaintenanceIn:
		switch uint16(cdb[1] & 0x1f) {
		case scsi.SAReportSupportedOps, scsi.SAReportSupportedTMFs:
			return needRead
		}
		return needNothing
	case scsi.OpVariableLength:
		if sa, _ := scsi.ServiceAction(cdb[:]); sa == scsi.SARead32 {
			return needRead
		}
	}
	return needNotShutOut
}

// conflicts says whether a reservation keeps the task from being carried out.
func (r *reservation) conflicts(t *Task) bool {
	switch {
	case r.legacyHeld:
		return r.legacyConflicts(t)
	case r.now.kind == 0:
		return false
	}
	what := needOf(&t.CDB)
	if what >= needNothing {
		return false
	}
	i := r.now.of(t.Nexus)
	switch {
	case r.now.holds(i), i >= 0 && r.now.kind.Registrants():
		return false
	}
	return what != needRead || !r.now.kind.WritesOnly()
}

// legacyConflicts is what a unit that is held by RESERVE lets in (SPC-2 5.5.1). PERSISTENT RESERVE is not for its holder
// either.
func (r *reservation) legacyConflicts(t *Task) bool {
	switch scsi.Opcode(t.CDB[0]) {
	case scsi.OpPersistReserveIn, scsi.OpPersistReserveOut:
		return true
	case scsi.OpInquiry, scsi.OpReportLUNs, scsi.OpRequestSense, scsi.OpLogSense, scsi.OpRelease6, scsi.OpRelease10,
		scsi.OpReadCapacity10:
		return false
	case scsi.OpServiceActionIn, scsi.OpStartStopUnit, scsi.OpMaintenanceIn:
		if needOf(&t.CDB) == needNothing {
			return false
		}
	}
	return !r.legacy.is(t.Nexus)
}
