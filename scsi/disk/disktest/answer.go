package disktest

import (
	"minisrp/miniport"
	"minisrp/scsi"
)

// Answer is how a command ends.
type Answer struct {
	Status   miniport.Status
	SCSI     scsi.Status // with StatusError
	HasSense bool
	Sense    scsi.Sense
	Execute  bool   // carry the command out nevertheless
	Short    uint32 // bytes that are told not to have been moved, with Execute
	Data     []byte // sent to the initiator, without Execute
}

// Good carries the command out.
func Good() *Answer { return &Answer{Status: miniport.StatusSuccess, Execute: true} }

// Check is CHECK CONDITION with sense data.
func Check(key scsi.SenseKey, code scsi.ASC) *Answer { return Sense(scsi.MakeSense(key, code)) }

// Sense is CHECK CONDITION with these sense data.
func Sense(s scsi.Sense) *Answer {
	return &Answer{Status: miniport.StatusError, SCSI: scsi.StatusCheckCondition, HasSense: true, Sense: s}
}

// Ends is a SCSI status without sense data.
func Ends(s scsi.Status) *Answer {
	if s == scsi.StatusGood || s == scsi.StatusConditionMet {
		return &Answer{Status: miniport.StatusSuccess, SCSI: s}
	}
	return &Answer{Status: miniport.StatusError, SCSI: s}
}

// Fails is the port's own word. Whether the unit has carried the command out is executed's.
func Fails(s miniport.Status, executed bool) *Answer { return &Answer{Status: s, Execute: executed} }

// Times returns the answer n times.
func (a *Answer) Times(n int) []*Answer {
	all := make([]*Answer, n)
	for i := range all {
		all[i] = a
	}
	return all
}
