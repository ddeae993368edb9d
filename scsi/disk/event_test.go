package disk_test

import (
	"errors"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
)

// SPC-5: CAPACITY DATA HAS CHANGED. The disk reads the capacity again, and the request goes on meanwhile.
func TestCapacityChanged(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Resize(4095)
	r.unit.Attention(scsi.ASCCapacityChanged)
	if err := r.do(r.request(disk.Read, 1<<20, 512)); err != disk.ErrRange {
		t.Error("before the unit has told:", err)
	}
	if err := r.do(r.request(disk.Read, 0, 512)); err != nil {
		t.Fatal(err)
	}
	e := r.event()
	if e.Kind != disk.CapacityChanged || e.Old.Size != 1<<20 || e.New.Size != 2<<20 || r.disk.Info() != e.New {
		t.Errorf("%v: %d to %d", e.Kind, e.Old.Size, e.New.Size)
	}
	if err := r.do(r.request(disk.Read, 1<<20, 512)); err != nil {
		t.Error(err)
	}
}

// A unit that has shrunk without a word is found out by LOGICAL BLOCK ADDRESS OUT OF RANGE.
func TestCapacityShrunk(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Resize(1023)
	if err := r.do(r.request(disk.Read, 1<<19, 512)); !errors.Is(err, disk.ErrRange) || !errors.Is(err, scsi.ErrLBAOutOfRange) {
		t.Error(err)
	}
	if e := r.event(); e.Kind != disk.CapacityChanged || e.New.Size != 1<<19 {
		t.Errorf("%v: %d", e.Kind, e.New.Size)
	}
	if err := r.do(r.request(disk.Read, 1<<19, 512)); err != disk.ErrRange {
		t.Error(err)
	}
}

func TestCapacityGone(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Resize(1<<64 - 1)
	r.unit.Attention(scsi.ASCCapacityChanged)
	r.do(r.request(disk.Flush, 0, 0))
	if e := r.event(); e.Kind != disk.CapacityChanged || e.New.Size != 0 {
		t.Errorf("%v: %d", e.Kind, e.New.Size)
	}
	if err := r.do(r.request(disk.Read, 0, 512)); err != disk.ErrRange {
		t.Error(err)
	}
	r.unit.Resize(2047)
	r.unit.Attention(scsi.ASCCapacityChanged)
	r.do(r.request(disk.Flush, 0, 0))
	if e := r.event(); e.Kind != disk.CapacityChanged || e.New.Size != 1<<20 {
		t.Errorf("%v: %d", e.Kind, e.New.Size)
	}
}

func TestModeChanged(t *testing.T) {
	r := newRig(t, with(func(c *disktest.Config) { c.WriteCache = false }), disk.Options{})
	r.unit.Config.WriteCache, r.unit.Config.WriteProtected = true, true
	r.unit.Attention(scsi.ASCModeParametersChanged)
	if err := r.do(r.request(disk.Read, 0, 512)); err != nil {
		t.Fatal(err)
	}
	if e := r.event(); e.Kind != disk.InfoChanged || e.New.WriteCache != disk.CacheOn || !e.New.ReadOnly {
		t.Errorf("%v: %+v", e.Kind, e.New)
	}
	if err := r.do(r.request(disk.Write, 0, 512)); err != disk.ErrReadOnly {
		t.Error(err)
	}
}

// A unit that says no more than that it is write protected is looked at.
func TestWriteProtectedLater(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Config.WriteProtected = true
	if err := r.do(r.request(disk.Write, 0, 512)); !errors.Is(err, disk.ErrReadOnly) {
		t.Error(err)
	}
	if e := r.event(); e.Kind != disk.InfoChanged || !e.New.ReadOnly {
		t.Error(e.Kind)
	}
}

func TestUnitChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *disktest.Config)
	}{
		{"identity", func(c *disktest.Config) { c.NAA = scsi.NAA6(0x001405, 3, 4) }},
		{"block size", func(c *disktest.Config) { c.Capacity.BlockSize, c.Capacity.LastLBA = 4096, 255 }},
		{"not a disk", func(c *disktest.Config) { c.Inquiry.Device = scsi.DeviceCDROM }},
		{"no unit", func(c *disktest.Config) { c.Inquiry.Qualifier = scsi.QualifierNotConnected }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, plain(), disk.Options{})
			c.change(&r.unit.Config)
			r.unit.Attention(scsi.ASCInquiryChanged)
			r.do(r.request(disk.Flush, 0, 0))
			if e := r.event(); e.Kind != disk.UnitChanged {
				t.Fatal(e.Kind)
			}
			for _, op := range []disk.Op{disk.Read, disk.Write, disk.Flush} {
				if err := r.do(r.request(op, 0, 4096)); err != disk.ErrChanged {
					t.Errorf("%v: %v", op, err)
				}
			}
		})
	}
}

func TestOtherEvents(t *testing.T) {
	for code, want := range map[scsi.ASC]disk.EventKind{
		scsi.ASCReportedLUNsChanged: disk.LUNsChanged, scsi.ASCThinThreshold: disk.SpaceLow,
	} {
		r := newRig(t, plain(), disk.Options{})
		r.unit.Attention(code)
		if err := r.do(r.request(disk.Read, 0, 512)); err != nil {
			t.Fatal(err)
		}
		if e := r.event(); e.Kind != want || e.New != r.disk.Info() {
			t.Errorf("%v: %v, want %v", code, e.Kind, want)
		}
		r.quiet()
	}
}

// What the unit has told another's command reaches the disk when that is passed on.
func TestOverheard(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Resize(4095)
	r.disk.Overheard(&scsi.Sense{Key: scsi.KeyUnitAttention, ASC: scsi.ASCCapacityChanged})
	if e := r.event(); e.Kind != disk.CapacityChanged || e.New.Size != 2<<20 {
		t.Errorf("%v: %d bytes", e.Kind, e.New.Size)
	}
	r.disk.Overheard(&scsi.Sense{Key: scsi.KeyIllegalRequest, ASC: scsi.ASCInvalidFieldInCDB})
	r.quiet()
	r.disk.Overheard(&scsi.Sense{Deferred: true, Key: scsi.KeyMediumError})
	if e := r.event(); e.Kind != disk.WritesLost {
		t.Error(e.Kind)
	}
	if err := r.do(r.request(disk.Flush, 0, 0)); !errors.Is(err, disk.ErrLostWrites) {
		t.Errorf("a flush: %v", err)
	}
}

// After a reset anything may have changed; where nothing has, nothing is told.
func TestResetChangesNothing(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Attention(scsi.ASCPowerOnReset, scsi.ASCTargetReset)
	if err := r.do(r.request(disk.Read, 0, 512)); err != nil {
		t.Fatal(err)
	}
	r.until(func() bool { return len(r.unit.Commands(scsi.OpMaintenanceIn)) >= 4 }) // an identification's last
	r.quiet()
}

// A unit that cannot be looked at stays what it was.
func TestLookingFails(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	before := r.disk.Info()
	r.unit.Script(scsi.OpReadCapacity10, disktest.Check(scsi.KeyHardwareError, scsi.ASCInternalTargetFailure))
	r.unit.Attention(scsi.ASCCapacityChanged)
	r.do(r.request(disk.Flush, 0, 0))
	r.until(func() bool { return len(r.unit.Commands(scsi.OpReadCapacity10)) > 0 })
	r.quiet()
	if err := r.do(r.request(disk.Read, 0, 512)); err != nil || r.disk.Info() != before {
		t.Error(err)
	}
}
