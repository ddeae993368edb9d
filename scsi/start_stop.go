package scsi

// StartStop is the START STOP UNIT command (SBC-4 5.31).
type StartStop struct {
	Immediate bool  // IMMED: answer before it is done
	Start     bool  // START: make the unit ready, otherwise stop it
	LoadEject bool  // LOEJ: load the medium, or eject it
	NoFlush   bool  // NO_FLUSH: do not write the cache before the unit stops
	Power     uint8 // POWER CONDITION, 0–15; 0: Start and LoadEject mean something
	Modifier  uint8 // POWER CONDITION MODIFIER, 0–15
}

// Put writes the command and returns its length.
func (c *StartStop) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpStartStopUnit), 1: bit(c.Immediate, 0), 3: c.Modifier & 0x0f,
		4: c.Power<<4 | bit(c.NoFlush, 2) | bit(c.LoadEject, 1) | bit(c.Start, 0)}
	return 6
}

// ParseStartStop decodes a START STOP UNIT CDB. Errors: ErrShort, ErrFormat.
func ParseStartStop(cdb []byte) (c StartStop, err error) {
	if err := checkCDB(cdb, OpStartStopUnit, 6); err != nil {
		return c, err
	}
	return StartStop{
		Immediate: cdb[1]&1 != 0, Start: cdb[4]&1 != 0, LoadEject: cdb[4]&2 != 0, NoFlush: cdb[4]&4 != 0,
		Power: cdb[4] >> 4, Modifier: cdb[3] & 0x0f,
	}, nil
}
