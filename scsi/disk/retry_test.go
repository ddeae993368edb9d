package disk_test

import (
	"errors"
	"testing"
	"time"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
)

var (
	attention = disktest.Check(scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
	becoming  = disktest.Check(scsi.KeyNotReady, scsi.ASCBecomingReady)
	aborted   = disktest.Check(scsi.KeyAbortedCommand, scsi.ASCNone)
	link      = disktest.Check(scsi.KeyAbortedCommand, scsi.ASCLogicalUnitCommunication)
	reset     = disktest.Fails(miniport.StatusBusReset, true)
	timeout   = disktest.Fails(miniport.StatusTimeout, true)
	medium    = disktest.Check(scsi.KeyMediumError, scsi.ASCUnrecoveredRead)
)

// script puts answers of several kinds in a row.
func script(parts ...[]*disktest.Answer) (all []*disktest.Answer) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// passes moves the time on until the request is done and returns how long that took.
func (r *rig) passes(q *disk.Request) time.Duration {
	r.t.Helper()
	took := time.Duration(0)
	n := len(r.order)
	r.submit(q)
	r.proc.RunUntilIdle()
	for len(r.order) == n {
		d, ok := r.proc.NextTimer()
		if !ok {
			r.t.Fatal("nothing is under way")
		}
		r.proc.Advance(d)
		took += d
	}
	return took
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []*disktest.Answer
		want    error // nil: success
		tries   int   // commands that the unit sees
		least   time.Duration
		most    time.Duration
	}{
		{"SAM-5 5.14: unit attentions, one a command", attention.Times(12), nil, 13, 0, 0},
		{"unit attentions without end", attention.Times(100), disk.ErrIO, 17, 0, 0},
		{"becoming ready, for a minute", becoming.Times(35), nil, 36, 50 * time.Second, 90 * time.Second},
		{"becoming ready, for ever", becoming.Times(1000), disk.ErrNotReady, 94, 170 * time.Second, 180 * time.Second},
		{"not becoming ready", disktest.Check(scsi.KeyNotReady, scsi.ASCNotReadyManual).Times(1), disk.ErrNotReady, 1, 0, 0},
		{"no medium", disktest.Check(scsi.KeyNotReady, scsi.ASCMediumNotPresent).Times(1), disk.ErrNoMedium, 1, 0, 0},
		{"BUSY", disktest.Ends(scsi.StatusBusy).Times(3), nil, 4, 750 * time.Millisecond, 4 * time.Second},
		{"TASK SET FULL", disktest.Ends(scsi.StatusTaskSetFull).Times(1), nil, 2, 250 * time.Millisecond, time.Second},
		{"the port's busy", disktest.Fails(miniport.StatusBusy, false).Times(2), nil, 3, 500 * time.Millisecond, 2 * time.Second},
		{"BUSY without end", disktest.Ends(scsi.StatusBusy).Times(100), disk.ErrBusy, 31, 60 * time.Second, 180 * time.Second},
		{"RESERVATION CONFLICT", disktest.Ends(scsi.StatusReservationConflict).Times(1), disk.ErrReserved, 1, 0, 0},
		{"TASK ABORTED", disktest.Ends(scsi.StatusTaskAborted).Times(2), nil, 3, 0, 0},
		{"ABORTED COMMAND", aborted.Times(5), nil, 6, 0, 0},
		{"ABORTED COMMAND without end", aborted.Times(100), disk.ErrIO, 6, 0, 0},
		{"LUN communication failure backs off", link.Times(5), nil, 6, 3 * time.Second, 4 * time.Second},
		{"LUN communication failure without end", link.Times(100), disk.ErrIO, 11, 20 * time.Second, 60 * time.Second},
		{"resets", reset.Times(5), nil, 6, 0, 0},
		{"resets without end", reset.Times(100), disk.ErrTimeout, 6, 0, 0},
		{"time-outs", timeout.Times(2), nil, 3, 0, 0},
		{"time-outs without end", timeout.Times(100), disk.ErrTimeout, 3, 0, 0},
		{"each failure has its own count", script(aborted.Times(4), reset.Times(4), attention.Times(8), timeout.Times(1)), nil, 18, 0, 0},
		{"MEDIUM ERROR of a read", medium.Times(1), disk.ErrMedium, 1, 0, 0},
		{"another MEDIUM ERROR", disktest.Check(scsi.KeyMediumError, 0x3100).Times(1), nil, 2, 0, 0},
		{"HARDWARE ERROR", disktest.Check(scsi.KeyHardwareError, scsi.ASCInternalTargetFailure).Times(1), disk.ErrIO, 1, 0, 0},
		{"ILLEGAL REQUEST", disktest.Check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB).Times(1), disk.ErrIO, 1, 0, 0},
		{"invalid operation code", disktest.Check(scsi.KeyIllegalRequest, scsi.ASCInvalidOpcode).Times(1), scsi.ErrInvalidOpcode, 1, 0, 0},
		{"unit not supported", disktest.Check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported).Times(1), disk.ErrGone, 1, 0, 0},
		{"RECOVERED ERROR is success", []*disktest.Answer{{
			Status: miniport.StatusError, SCSI: scsi.StatusCheckCondition, HasSense: true, Execute: true,
			Sense: scsi.MakeSense(scsi.KeyRecoveredError, 0x1701),
		}}, nil, 1, 0, 0},
		{"CHECK CONDITION without sense data", disktest.Ends(scsi.StatusCheckCondition).Times(3), nil, 4, 0, 0},
		{"a reserved status without end", disktest.Ends(0x22).Times(9), disk.ErrIO, 4, 0, 0},
		{"GOOD with less data", []*disktest.Answer{{Status: miniport.StatusSuccess, Execute: true, Short: 512}}, nil, 2, 0, 0},
		{"GOOD with less data for ever", (&disktest.Answer{Status: miniport.StatusSuccess, Execute: true, Short: 512}).Times(9), disk.ErrIO, 4, 0, 0},
		{"overrun", disktest.Fails(miniport.StatusDataOverrun, true).Times(1), disk.ErrIO, 1, 0, 0},
		{"no device", disktest.Fails(miniport.StatusNoDevice, false).Times(1), disk.ErrGone, 1, 0, 0},
		{"the port stops", disktest.Fails(miniport.StatusFlushed, false).Times(1), disk.ErrGone, 1, 0, 0},
		{"the adapter cannot", disktest.Fails(miniport.StatusInvalidRequest, false).Times(1), disk.ErrInvalid, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, plain(), disk.Options{})
			r.unit.Script(scsi.OpRead10, c.answers...)
			fill(r.unit.Data[:4096], 9)
			q := r.request(disk.Read, 0, 4096)
			took := r.passes(q)
			if !errors.Is(q.Err, c.want) || c.want == nil && q.Err != nil {
				t.Errorf("error %v, want %v", q.Err, c.want)
			}
			if n := len(r.unit.Commands(scsi.OpRead10)); n != c.tries {
				t.Errorf("tried %d times, want %d", n, c.tries)
			}
			if took < c.least || took > c.most {
				t.Errorf("took %v, want %v to %v", took, c.least, c.most)
			}
			if q.Err == nil && string(r.arena.Bytes()[:4096]) != string(r.unit.Data[:4096]) {
				t.Error("other data than were read")
			}
			var e *disk.Error
			if errors.As(q.Err, &e) && int(e.Retries) != c.tries-1 {
				t.Errorf("%d retries told, want %d", e.Retries, c.tries-1)
			}
		})
	}
}

// A write of unknown effect is sent again with the same data, whatever the unit has done with it.
func TestWritesAreSentAgain(t *testing.T) {
	for _, executed := range []bool{false, true} {
		r := newRig(t, plain(), disk.Options{})
		r.unit.Script(scsi.OpWrite10, disktest.Fails(miniport.StatusTimeout, executed), disktest.Fails(miniport.StatusBusReset, executed))
		fill(r.arena.Bytes()[:4096], 3)
		if err := r.do(r.request(disk.Write, 4096, 4096)); err != nil {
			t.Fatal(err)
		}
		if string(r.unit.Data[4096:8192]) != string(r.arena.Bytes()[:4096]) {
			t.Error("other data than were written")
		}
		if n := len(r.unit.Commands(scsi.OpWrite10)); n != 3 {
			t.Errorf("%d writes", n)
		}
	}
}

// A pause is the unit's: new requests wait, in their order.
func TestPauseHoldsEverything(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Script(scsi.OpRead10, becoming)
	first, second := r.request(disk.Read, 0, 512), r.request(disk.Read, 512, 512)
	r.submit(first)
	r.submit(second)
	r.proc.RunUntilIdle()
	if len(r.order) != 0 || len(r.unit.Log) != 1 {
		t.Fatalf("%d complete, %d commands", len(r.order), len(r.unit.Log))
	}
	r.proc.Advance(100 * time.Millisecond)
	if len(r.order) != 2 || r.order[0] != first {
		t.Fatalf("%d complete", len(r.order))
	}
}

// SPC-5 4.4.2: the INFORMATION field is the LBA concerned, if it is valid and in the command.
func TestErrorTellsTheBlock(t *testing.T) {
	for _, c := range []struct {
		valid bool
		info  uint64
		want  uint64
	}{{true, 21, 21}, {false, 21, 16}, {true, 24, 16}, {true, 15, 16}, {true, 16, 16}} {
		r := newRig(t, plain(), disk.Options{})
		s := scsi.MakeSense(scsi.KeyMediumError, scsi.ASCUnrecoveredRead)
		s.InformationValid, s.Information = c.valid, c.info
		r.unit.Script(scsi.OpRead10, disktest.Sense(s))
		var e *disk.Error
		if err := r.do(r.request(disk.Read, 16*512, 8*512)); !errors.As(err, &e) || e.LBA != c.want || e.Blocks != 8 {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestErrorsByMeaning(t *testing.T) {
	for _, c := range []struct {
		key  scsi.SenseKey
		code scsi.ASC
		want []error
	}{
		{scsi.KeyDataProtect, scsi.ASCWriteProtected, []error{disk.ErrReadOnly, scsi.ErrDataProtect, scsi.ErrWriteProtected}},
		{scsi.KeyDataProtect, scsi.ASCSpaceAllocation, []error{disk.ErrNoSpace, scsi.ErrNoSpace}},
		{scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange, []error{disk.ErrRange, scsi.ErrLBAOutOfRange}},
	} {
		r := newRig(t, plain(), disk.Options{})
		r.unit.Script(scsi.OpWrite10, disktest.Check(c.key, c.code))
		err := r.do(r.request(disk.Write, 0, 512))
		for _, want := range c.want {
			if !errors.Is(err, want) {
				t.Errorf("%v is not %v", err, want)
			}
		}
	}
}
