package disk_test

import (
	"bytes"
	"errors"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
)

func TestFlush(t *testing.T) {
	sync := []scsi.Opcode{scsi.OpSynchronizeCache, scsi.OpSyncCache16}
	for _, c := range []struct {
		name   string
		config func(c *disktest.Config)
		want   string
		err    error
	}{
		{"write back", nil, "SYNCHRONIZE CACHE(10)", nil},
		{"write through", func(c *disktest.Config) { c.WriteCache = false }, "", nil},
		{"the unit does not say", func(c *disktest.Config) { c.NoCachingPage = true }, "SYNCHRONIZE CACHE(10)", nil},
		{"SYNCHRONIZE CACHE(16) only", func(c *disktest.Config) { c.Unknown = sync[:1] }, "SYNCHRONIZE CACHE(16)", nil},
		{"(16) only, and nobody says so", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{sync[0], scsi.OpMaintenanceIn} },
			"SYNCHRONIZE CACHE(10); SYNCHRONIZE CACHE(16)", nil},
		{"a cache, and no way to flush it", func(c *disktest.Config) { c.Unknown = sync }, "", disk.ErrUnsupported},
		{"a cache, and no way to flush it, as it turns out", func(c *disktest.Config) { c.Unknown = append(sync, scsi.OpMaintenanceIn) },
			"SYNCHRONIZE CACHE(10); SYNCHRONIZE CACHE(16)", disk.ErrUnsupported},
		{"SBC-4 5.33: no cache known, and no command for one", func(c *disktest.Config) { c.Unknown, c.NoCachingPage = sync, true }, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := plain()
			if c.config != nil {
				c.config(&config)
			}
			r := newRig(t, config, disk.Options{})
			fill(r.arena.Bytes()[:4096], 3)
			if err := r.do(r.request(disk.Write, 0, 4096)); err != nil {
				t.Fatal(err)
			}
			r.unit.Log = nil
			if err := r.do(r.request(disk.Flush, 0, 0)); err != c.err {
				t.Errorf("%v, want %v", err, c.err)
			}
			if got := trace(r); got != c.want {
				t.Errorf("commands %q, want %q", got, c.want)
			}
			if c.want != "" && c.err == nil && !bytes.Equal(r.unit.Durable, r.unit.Data) {
				t.Error("not durable")
			}
		})
	}
}

// SBC-4 5.33: zero blocks from LBA 0 are all of the unit.
func TestFlushIsOfTheWholeUnit(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	q := r.request(disk.Flush, 4096, 4096)
	if err := r.do(q); err != nil {
		t.Fatal(err)
	}
	c, err := scsi.ParseSyncCache(r.unit.Log[0].CDB[:])
	if err != nil || c != (scsi.SyncCache{}) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestFUA(t *testing.T) {
	for _, c := range []struct {
		name   string
		config func(c *disktest.Config)
		want   string
	}{
		{"by the bit", nil, "WRITE(10) 0+256 FUA; WRITE(10) 256+44 FUA"},
		{"by a flush behind the last part", func(c *disktest.Config) { c.DPOFUA = false },
			"WRITE(10) 0+256; WRITE(10) 256+44; SYNCHRONIZE CACHE(10)"},
		{"write through", func(c *disktest.Config) { c.WriteCache = false }, "WRITE(10) 0+256; WRITE(10) 256+44"},
		{"the unit does not say", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpModeSense6, scsi.OpModeSense10} },
			"WRITE(10) 0+256; WRITE(10) 256+44; SYNCHRONIZE CACHE(10)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := plain()
			if c.config != nil {
				c.config(&config)
			}
			r := newRig(t, config, disk.Options{})
			fill(r.arena.Bytes()[:300*512], 3)
			q := r.request(disk.Write, 0, 300*512)
			q.FUA = true
			if err := r.do(q); err != nil {
				t.Fatal(err)
			}
			if got := trace(r); got != c.want {
				t.Errorf("commands %s\nwant     %s", got, c.want)
			}
			if !bytes.Equal(r.unit.Durable, r.unit.Data) {
				t.Error("not durable")
			}
		})
	}
}

// A unit that claims DPOFUA and refuses the bit is not believed again.
func TestFUARefused(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Config.DPOFUA = false
	q := r.request(disk.Write, 0, 512)
	q.FUA = true
	for range 2 {
		if err := r.do(q); err != nil {
			t.Fatal(err)
		}
	}
	want := "WRITE(10) 0+1 FUA; WRITE(10) 0+1; SYNCHRONIZE CACHE(10); WRITE(10) 0+1; SYNCHRONIZE CACHE(10)"
	if got := trace(r); got != want {
		t.Errorf("commands %s\nwant     %s", got, want)
	}
}

// A write whose data are not durable does not say that they are.
func TestFUAFails(t *testing.T) {
	r := newRig(t, with(func(c *disktest.Config) { c.DPOFUA = false }), disk.Options{})
	r.unit.Script(scsi.OpSynchronizeCache, disktest.Check(scsi.KeyHardwareError, scsi.ASCInternalTargetFailure))
	q := r.request(disk.Write, 0, 512)
	q.FUA = true
	var e *disk.Error
	if err := r.do(q); !errors.As(err, &e) || !errors.Is(err, scsi.ErrHardware) || e.Op != disk.Write {
		t.Error(err)
	}
	if err := r.do(r.request(disk.Flush, 0, 0)); err != disk.ErrLostWrites {
		t.Error("flush afterwards:", err)
	}
}

// A flush that the unit did not carry out loses nothing: the next one covers everything.
func TestFlushThatWasNotCarriedOut(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	if err := r.do(r.request(disk.Write, 0, 512)); err != nil {
		t.Fatal(err)
	}
	r.unit.Script(scsi.OpSynchronizeCache, disktest.Fails(miniport.StatusBusReset, false).Times(6)...)
	if err := r.do(r.request(disk.Flush, 0, 0)); !errors.Is(err, disk.ErrTimeout) {
		t.Error(err)
	}
	if err := r.do(r.request(disk.Flush, 0, 0)); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(r.unit.Durable, r.unit.Data) {
		t.Error("not durable")
	}
	r.quiet()
}

// A flush that the unit could not carry out has lost writes, and GOOD for the next one does not bring them back.
func TestFlushThatLostWrites(t *testing.T) {
	for _, a := range [][]*disktest.Answer{
		disktest.Check(scsi.KeyMediumError, scsi.ASCWriteError).Times(2), // tried twice
		disktest.Check(scsi.KeyHardwareError, scsi.ASCInternalTargetFailure).Times(1),
	} {
		r := newRig(t, plain(), disk.Options{})
		r.unit.Script(scsi.OpSynchronizeCache, a...)
		var e *disk.Error
		if err := r.do(r.request(disk.Flush, 0, 0)); !errors.As(err, &e) {
			t.Error(err)
		}
		if e := r.event(); e.Kind != disk.WritesLost {
			t.Error(e.Kind)
		}
		for range 3 {
			if err := r.do(r.request(disk.Flush, 0, 0)); err != disk.ErrLostWrites {
				t.Error(err)
			}
		}
		if !r.disk.AcceptLoss() || r.disk.AcceptLoss() {
			t.Error("AcceptLoss")
		}
		if err := r.do(r.request(disk.Flush, 0, 0)); err != nil {
			t.Error(err)
		}
		r.quiet()
	}
}

// SPC-5 4.4.7: a deferred error is about a write that was acknowledged, whatever command it comes with. That
// command is carried out; flushes know.
func TestDeferredError(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	s := scsi.MakeSense(scsi.KeyMediumError, scsi.ASCWriteError)
	s.Deferred = true
	r.unit.Script(scsi.OpRead10, disktest.Sense(s))
	if err := r.do(r.request(disk.Read, 0, 512)); err != nil {
		t.Error(err)
	}
	if n := len(r.unit.Commands(scsi.OpRead10)); n != 2 {
		t.Errorf("%d reads", n)
	}
	if err := r.do(r.request(disk.Flush, 0, 0)); err != disk.ErrLostWrites {
		t.Error(err)
	}
	if e := r.event(); e.Kind != disk.WritesLost {
		t.Error(e.Kind)
	}
	// Also a flush that needs no command.
	r = newRig(t, with(func(c *disktest.Config) { c.WriteCache = false }), disk.Options{})
	r.unit.Script(scsi.OpRead10, disktest.Sense(s))
	if err := r.do(r.request(disk.Read, 0, 512)); err != nil {
		t.Error(err)
	}
	if err := r.do(r.request(disk.Flush, 0, 0)); err != disk.ErrLostWrites {
		t.Error(err)
	}
}
