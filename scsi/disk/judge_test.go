package disk

import (
	"errors"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
)

func TestJudgePortStatus(t *testing.T) {
	for _, c := range []struct {
		status miniport.Status
		want   class
		err    error
	}{
		{miniport.StatusSuccess, classGood, nil},
		{miniport.StatusBusy, classBusy, ErrBusy},
		{miniport.StatusDataOverrun, classFatal, ErrIO},
		{miniport.StatusTimeout, classTimeout, ErrTimeout},
		{miniport.StatusBusReset, classReset, ErrTimeout},
		{miniport.StatusNoDevice, classFatal, ErrGone},
		{miniport.StatusFlushed, classFatal, ErrGone},
		{miniport.StatusInvalidRequest, classFatal, ErrInvalid},
		{miniport.Status(200), classFatal, ErrIO},
	} {
		v := judge(c.status, 0, nil, false)
		if v.class != c.want || v.meaning != c.err {
			t.Errorf("%v: %v, %v; want %v, %v", c.status, v.class, v.meaning, c.want, c.err)
		}
	}
}

// SAM-5 5.3.1.
func TestJudgeSCSIStatus(t *testing.T) {
	for _, c := range []struct {
		status scsi.Status
		want   class
		err    error
	}{
		{scsi.StatusBusy, classBusy, ErrBusy},
		{scsi.StatusTaskSetFull, classBusy, ErrBusy},
		{scsi.StatusACAActive, classBusy, ErrBusy},
		{scsi.StatusReservationConflict, classFatal, ErrReserved},
		{scsi.StatusTaskAborted, classAborted, ErrIO},
		{scsi.StatusCheckCondition, classUnclear, ErrIO}, // without sense data
		{scsi.Status(0x22), classUnclear, ErrIO},
	} {
		v := judge(miniport.StatusError, c.status, &scsi.Sense{}, false)
		if v.class != c.want || v.meaning != c.err {
			t.Errorf("%v: %v, %v; want %v, %v", c.status, v.class, v.meaning, c.want, c.err)
		}
	}
}

// SPC-5 4.4.8 (sense keys) and annex F (codes).
func TestJudgeSense(t *testing.T) {
	for _, c := range []struct {
		key   scsi.SenseKey
		code  scsi.ASC
		want  class
		err   error
		notes notes
	}{
		{scsi.KeyNoSense, scsi.ASCNone, classUnclear, ErrIO, 0},
		{scsi.KeyRecoveredError, 0x1701, classGood, nil, 0},
		{scsi.KeyRecoveredError, scsi.ASCThinThreshold, classGood, nil, noteThreshold},
		{scsi.KeyCompleted, scsi.ASCNone, classGood, nil, 0},

		{scsi.KeyNotReady, scsi.ASCNotReadyUnknown, classNotReady, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCBecomingReady, classNotReady, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCNotReadyInitializing, classFatal, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCNotReadyManual, classFatal, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCNotReadyFormat, classFatal, ErrNotReady, 0},
		{scsi.KeyNotReady, 0x0407, classNotReady, ErrNotReady, 0},
		{scsi.KeyNotReady, 0x0414, classNotReady, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCNotReadyALUATransition, classNotReady, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCNotReadyStandby, classFatal, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCNotReadyUnavailable, classFatal, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCLogicalUnitNotConfigured, classNotReady, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCLogicalUnitCommunication, classLink, ErrNotReady, 0},
		{scsi.KeyNotReady, scsi.ASCMediumNotPresent, classFatal, ErrNoMedium, 0},
		{scsi.KeyNotReady, 0x3a01, classFatal, ErrNoMedium, 0},

		{scsi.KeyMediumError, scsi.ASCUnrecoveredRead, classFatal, ErrMedium, 0},
		{scsi.KeyMediumError, 0x1104, classFatal, ErrMedium, 0},
		{scsi.KeyMediumError, scsi.ASCWriteError, classMedium, ErrMedium, 0},

		{scsi.KeyHardwareError, scsi.ASCInternalTargetFailure, classFatal, ErrIO, 0},
		{scsi.KeyHardwareError, scsi.ASCLogicalUnitCommTimeout, classLink, ErrIO, 0},

		{scsi.KeyIllegalRequest, scsi.ASCInvalidOpcode, classRefused, ErrIO, 0},
		{scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB, classRefused, ErrIO, 0},
		{scsi.KeyIllegalRequest, scsi.ASCParameterListLength, classRefused, ErrIO, 0},
		{scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange, classFatal, ErrRange, noteLook},
		{scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported, classFatal, ErrGone, noteLUNs},
		{scsi.KeyIllegalRequest, scsi.ASCInsufficientResources, classFatal, ErrIO, 0},

		{scsi.KeyUnitAttention, scsi.ASCPowerOnReset, classAttention, ErrIO, noteLook},
		{scsi.KeyUnitAttention, scsi.ASCTargetReset, classAttention, ErrIO, noteLook},
		{scsi.KeyUnitAttention, scsi.ASCNexusLoss, classAttention, ErrIO, noteLook},
		{scsi.KeyUnitAttention, scsi.ASCModeParametersChanged, classAttention, ErrIO, noteLook},
		{scsi.KeyUnitAttention, scsi.ASCCapacityChanged, classAttention, ErrIO, noteLook},
		{scsi.KeyUnitAttention, scsi.ASCMediumMayHaveChanged, classAttention, ErrIO, noteLook},
		{scsi.KeyUnitAttention, scsi.ASCInquiryChanged, classAttention, ErrIO, noteLook},
		{scsi.KeyUnitAttention, scsi.ASCReportedLUNsChanged, classAttention, ErrIO, noteLUNs},
		{scsi.KeyUnitAttention, scsi.ASCThinThreshold, classAttention, ErrIO, noteThreshold},
		{scsi.KeyUnitAttention, scsi.ASCCommandsCleared, classAttention, ErrIO, 0},

		{scsi.KeyDataProtect, scsi.ASCWriteProtected, classFatal, ErrReadOnly, noteLook},
		{scsi.KeyDataProtect, 0x2702, classFatal, ErrReadOnly, noteLook},
		{scsi.KeyDataProtect, scsi.ASCSpaceAllocation, classFatal, ErrNoSpace, 0},
		{scsi.KeyDataProtect, 0x2002, classFatal, ErrIO, 0},

		{scsi.KeyAbortedCommand, scsi.ASCNone, classAborted, ErrIO, 0},
		{scsi.KeyAbortedCommand, scsi.ASCDataPhaseError, classAborted, ErrIO, 0},
		{scsi.KeyAbortedCommand, scsi.ASCLogicalUnitCommunication, classLink, ErrIO, 0},
		{scsi.KeyAbortedCommand, scsi.ASCGuardCheck, classFatal, ErrIO, 0},

		{scsi.KeyBlankCheck, scsi.ASCNone, classFatal, ErrIO, 0},
		{scsi.KeyMiscompare, scsi.ASCMiscompare, classFatal, ErrIO, 0},
		{scsi.KeyVendorSpecific, scsi.ASCNone, classFatal, ErrIO, 0},
	} {
		s := scsi.MakeSense(c.key, c.code)
		v := judge(miniport.StatusError, scsi.StatusCheckCondition, &s, true)
		if v.class != c.want || v.meaning != c.err || v.notes != c.notes {
			t.Errorf("%v: %v, %v, notes %b; want %v, %v, notes %b", s, v.class, v.meaning, v.notes, c.want, c.err, c.notes)
		}
	}
}

// SPC-5 4.4.7: a deferred error is an earlier command's, whatever its key.
func TestJudgeDeferred(t *testing.T) {
	for key := scsi.KeyNoSense; key <= scsi.KeyCompleted; key++ {
		s := scsi.MakeSense(key, scsi.ASCWriteError)
		s.Deferred = true
		v := judge(miniport.StatusError, scsi.StatusCheckCondition, &s, true)
		harmless := key == scsi.KeyNoSense || key == scsi.KeyRecoveredError || key == scsi.KeyCompleted
		if v.class != classDeferred || v.notes&noteLost == 0 != harmless {
			t.Errorf("%v: %v, notes %b", s, v.class, v.notes)
		}
	}
}

// Every class that is tried again has a policy, and ends within the time limit by itself or by it.
func TestPolicies(t *testing.T) {
	for c := class(0); c < classes; c++ {
		p := policies[c]
		again := c != classGood && c != classFatal && c != classRefused
		if again != (p.tries != 0) || p.most < p.delay || p.tries == 255 && p.delay == 0 {
			t.Errorf("%v: %+v", c, p)
		}
		if c.String() == "" {
			t.Errorf("class %d has no name", c)
		}
	}
}

func TestErrorText(t *testing.T) {
	e := Error{
		Op: Read, LBA: 12, Blocks: 8, CDB: scsi.CDB{byte(scsi.OpRead10)}, Status: miniport.StatusError,
		SCSIStatus: scsi.StatusCheckCondition, HasSense: true, Retries: 1,
		Sense: scsi.MakeSense(scsi.KeyMediumError, scsi.ASCUnrecoveredRead), meaning: ErrMedium,
	}
	want := "READ(10) at LBA 12, 8 blocks: medium error (MEDIUM ERROR: unrecovered read error (11/00)), tried 2 times"
	if e.Error() != want {
		t.Errorf("got  %s\nwant %s", e.Error(), want)
	}
	for _, is := range []error{ErrMedium, scsi.ErrMedium} {
		if !errors.Is(&e, is) {
			t.Errorf("not %v", is)
		}
	}
	if errors.Is(&e, scsi.ErrHardware) || errors.Is(&e, ErrIO) {
		t.Error("is something else")
	}
	e = Error{Op: Flush, CDB: scsi.CDB{byte(scsi.OpSynchronizeCache)}, Status: miniport.StatusNoDevice, meaning: ErrGone}
	if want := "SYNCHRONIZE CACHE(10): disk is gone (no device)"; e.Error() != want || errors.Is(&e, scsi.ErrStatus) {
		t.Errorf("got  %s\nwant %s", e.Error(), want)
	}
}
