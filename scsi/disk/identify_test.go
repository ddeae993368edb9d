package disk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
	"minisrp/verbs/dispatch"
)

func TestInfo(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	want := disk.Info{
		Identity: "naa.60014050000000010000000000000002", Vendor: "MINISRP", Product: "TEST DISK", Revision: "1", Serial: "S1",
		Size: 1 << 20, LogicalBlock: 512, PhysicalBlock: 4096, Granularity: 4096, OptimalIO: 64 << 10, MaxTransfer: 128 << 10,
		Thin: true, Unmap: true, LBPU: true, LBPWS: true, LBPWS10: true, LBPRZ: true,
		MaxUnmapBlocks: 512, MaxUnmapDescriptors: 4, UnmapGranularity: 8, MaxWriteSame: 1024,
		WriteCache: disk.CacheOn, FUA: true,
	}
	if got := r.disk.Info(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestInfoOfUnits(t *testing.T) {
	for _, c := range []struct {
		name   string
		config func(c *disktest.Config)
		wrong  func(i disk.Info) bool
	}{
		{"adapter's limit", func(c *disktest.Config) { c.Limits.MaxTransfer = 0 },
			func(i disk.Info) bool { return i.MaxTransfer != disk.DefaultMaxTransfer }},
		{"limit in blocks of 4 KiB", func(c *disktest.Config) { c.Capacity.BlockSize = 4096; c.Capacity.LastLBA = 9 },
			func(i disk.Info) bool { return i.MaxTransfer != 1<<20 || i.Size != 40<<10 || i.PhysicalBlock != 32<<10 }},
		{"alignment", func(c *disktest.Config) { c.Capacity.LowestAligned = 7 },
			func(i disk.Info) bool { return i.Alignment != 7*512 }},
		{"optimal transfer above the greatest", func(c *disktest.Config) { c.Limits.OptimalTransfer = 1 << 20 },
			func(i disk.Info) bool { return i.OptimalIO != 0 }},
		{"no VPD", func(c *disktest.Config) {
			c.NAA, c.Serial, c.Limits, c.Characteristics, c.Provisioning = [16]byte{}, "", nil, nil, nil
		}, func(i disk.Info) bool {
			return i.Identity != "" || i.Serial != "" || i.MaxUnmapBlocks != 0 || i.UnmapGranularity != 1
		}},
		{"identity by serial number", func(c *disktest.Config) { c.NAA = [16]byte{} },
			func(i disk.Info) bool { return !strings.Contains(string(i.Identity), "S1") }},
		{"not thin", func(c *disktest.Config) { c.Capacity.Provisioned = false },
			func(i disk.Info) bool { return i.Thin || i.Unmap }},
		{"UNMAP claimed and bounded to nothing", func(c *disktest.Config) {
			c.Limits.MaxUnmapBlocks = 0
			c.Provisioning.UnmapByWriteSame, c.Provisioning.UnmapByWriteSame10 = false, false
		}, func(i disk.Info) bool { return i.Unmap }},
		{"provisioning page tells of zeros", func(c *disktest.Config) { c.Capacity.ReadsZeros = false },
			func(i disk.Info) bool { return !i.LBPRZ }},
		{"rotating", func(c *disktest.Config) { c.Characteristics.RotationRate = 7200 },
			func(i disk.Info) bool { return !i.Rotational || i.Rotation != 7200 }},
		{"write through", func(c *disktest.Config) { c.WriteCache = false },
			func(i disk.Info) bool { return i.WriteCache != disk.CacheOff }},
		{"no caching page", func(c *disktest.Config) { c.NoCachingPage = true },
			func(i disk.Info) bool { return i.WriteCache != disk.CacheUnknown || !i.FUA }},
		{"no MODE SENSE", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpModeSense6, scsi.OpModeSense10} },
			func(i disk.Info) bool { return i.WriteCache != disk.CacheUnknown || i.FUA || i.ReadOnly }},
		{"MODE SENSE(6) only", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpModeSense10} },
			func(i disk.Info) bool { return i.WriteCache != disk.CacheOn || !i.FUA }},
		{"write protected", func(c *disktest.Config) { c.WriteProtected = true },
			func(i disk.Info) bool { return !i.ReadOnly }},
		{"READ CAPACITY(10) only", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpServiceActionIn} },
			func(i disk.Info) bool { return i.Size != 1<<20 || i.Thin }},
		{"READ CAPACITY(16) only", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpReadCapacity10} },
			func(i disk.Info) bool { return i.Size != 1<<20 || !i.Thin }},
		{"more than 2^32 blocks", func(c *disktest.Config) { c.Capacity.LastLBA = 1 << 33 },
			func(i disk.Info) bool { return i.Size != (1<<33+1)*512 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, with(c.config), disk.Options{})
			if i := r.disk.Info(); c.wrong(i) {
				t.Errorf("%+v", i)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		config func(c *disktest.Config)
		want   error
		text   string
	}{
		{"SPC-5 6.7.2: qualifier 011b, no unit possible", func(c *disktest.Config) {
			c.Inquiry = scsi.StandardInquiry{Qualifier: scsi.QualifierNotSupported, Device: scsi.DeviceUnknown, Vendor: [8]byte{'X'}}
		}, disk.ErrNoUnit, "no such logical unit (peripheral qualifier 3)"},
		{"SPC-5 6.7.2: qualifier 001b, no unit here", func(c *disktest.Config) {
			c.Inquiry = scsi.StandardInquiry{Qualifier: scsi.QualifierNotConnected, Vendor: [8]byte{'X'}}
		}, disk.ErrNoUnit, "no such logical unit (peripheral qualifier 1)"},
		{"tape", func(c *disktest.Config) { c.Inquiry.Device, c.Inquiry.Vendor = scsi.DeviceTape, [8]byte{'X'} },
			disk.ErrNotDisk, "not a disk: peripheral device type 01h, want 00h, a direct access block device"},
		{"host managed zones", func(c *disktest.Config) { c.Inquiry.Device, c.Inquiry.Vendor = scsi.DeviceZoned, [8]byte{'X'} },
			disk.ErrNotDisk, ""},
		{"capacity of 0: the last address is that before the first", func(c *disktest.Config) { c.Capacity.LastLBA = 1<<64 - 1 },
			disk.ErrNoCapacity, "disk has a capacity of 0"},
		{"block size 0", func(c *disktest.Config) { c.Capacity = scsi.Capacity{} }, disk.ErrNoCapacity, ""},
		{"block size 520", func(c *disktest.Config) { c.Capacity.BlockSize = 520 }, disk.ErrBlockSize,
			"unusable logical block size: 520 bytes, want a power of two from 512 to 65536"},
		{"size above 2^64", func(c *disktest.Config) { c.Capacity.LastLBA = 1 << 60 }, scsi.ErrRange, ""},
		{"too large for the only READ CAPACITY", func(c *disktest.Config) {
			c.Capacity.LastLBA, c.Unknown = 1<<33, []scsi.Opcode{scsi.OpServiceActionIn}
		}, scsi.ErrInvalidOpcode, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tryRig(t, with(c.config), disk.Options{})
			if !errors.Is(err, c.want) || c.text != "" && err.Error() != c.text {
				t.Errorf("error %q, want %q", err, cmp(c.text, c.want))
			}
		})
	}
}

func cmp(text string, err error) string {
	if text != "" {
		return text
	}
	return err.Error()
}

func TestOpenRefusesByAnswer(t *testing.T) {
	for _, c := range []struct {
		name string
		op   scsi.Opcode
		a    *disktest.Answer
		want error
	}{
		{"no medium", scsi.OpTestUnitReady, disktest.Check(scsi.KeyNotReady, scsi.ASCMediumNotPresent), disk.ErrNoMedium},
		{"absent unit answers commands", scsi.OpTestUnitReady, disktest.Check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported), disk.ErrNoUnit},
		{"manual intervention", scsi.OpTestUnitReady, disktest.Check(scsi.KeyNotReady, scsi.ASCNotReadyManual), disk.ErrNotReady},
		{"reserved", scsi.OpTestUnitReady, disktest.Ends(scsi.StatusReservationConflict), disk.ErrReserved},
		{"gone", scsi.OpInquiry, disktest.Fails(miniport.StatusNoDevice, false), disk.ErrGone},
		{"port stops", scsi.OpReadCapacity10, disktest.Fails(miniport.StatusFlushed, false), disk.ErrGone},
		{"medium error", scsi.OpModeSense10, disktest.Check(scsi.KeyHardwareError, scsi.ASCInternalTargetFailure), scsi.ErrHardware},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proc := dispatch.New("test")
				defer proc.Close()
				u := disktest.NewUnit(proc, plain())
				port := disktest.NewPort(proc)
				u.Script(c.op, c.a)
				_, err := disk.Open(t.Context(), u, port, disk.Options{})
				if !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if port.Regions() != 0 {
					t.Error("memory is still registered")
				}
			})
		})
	}
}

// SAM-5 5.14: each event costs a command, and says nothing of the unit's being usable.
func TestOpenPassesUnitAttentions(t *testing.T) {
	proc := dispatch.NewManual("test")
	r := &rig{t: t, proc: proc}
	u := disktest.NewUnit(proc, plain())
	u.Attention(scsi.ASCPowerOnReset, scsi.ASCReportedLUNsChanged, scsi.ASCModeParametersChanged, scsi.ASCCapacityChanged)
	var d *disk.Disk
	var err error
	told := 0
	r.passive(func() {
		d, err = disk.Open(t.Context(), u, disktest.NewPort(proc), disk.Options{Event: func(context.Context, disk.Event) { told++ }})
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Counters(); c.Attention != 4 {
		t.Errorf("%d attentions", c.Attention)
	}
	r.passive(func() { err = d.Close(context.Background()) })
	if err != nil || told != 0 {
		t.Error(err, told)
	}
}

// SPC-5 table of 04h: a unit that says it is becoming ready is waited for.
func TestOpenWaitsUntilReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proc := dispatch.New("test")
		defer proc.Close()
		u := disktest.NewUnit(proc, plain())
		start := time.Now()
		u.Hook = func(c *disktest.Command) *disktest.Answer {
			if scsi.Opcode(c.SRB.CDB[0]) == scsi.OpTestUnitReady && time.Since(start) < 30*time.Second {
				return disktest.Check(scsi.KeyNotReady, scsi.ASCBecomingReady)
			}
			return nil
		}
		d, err := disk.Open(t.Context(), u, disktest.NewPort(proc), disk.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 30*time.Second || took > 33*time.Second {
			t.Error("ready after", took)
		}
		if n := d.Counters().NotReady; n > 40 {
			t.Errorf("asked %d times", n)
		}
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestOpenGivesUp(t *testing.T) {
	for _, c := range []struct {
		name string
		ctx  time.Duration
		most time.Duration
		want error
	}{
		{"after the time limit", time.Hour, 3 * time.Minute, disk.ErrNotReady},
		{"when the context ends", 10 * time.Second, 10 * time.Second, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proc := dispatch.New("test")
				defer proc.Close()
				u := disktest.NewUnit(proc, plain())
				port := disktest.NewPort(proc)
				u.Script(scsi.OpTestUnitReady, disktest.Check(scsi.KeyNotReady, scsi.ASCBecomingReady).Times(1000)...)
				ctx, cancel := context.WithTimeout(t.Context(), c.ctx)
				defer cancel()
				start := time.Now()
				_, err := disk.Open(ctx, u, port, disk.Options{})
				if took := time.Since(start); !errors.Is(err, c.want) || took > c.most {
					t.Errorf("%v after %v, want %v", err, took, c.want)
				}
				if port.Regions() != 0 {
					t.Error("memory is still registered")
				}
			})
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	proc := dispatch.NewManual("test")
	u := disktest.NewUnit(proc, plain())
	for _, o := range []disk.Options{
		{Depth: -1}, {Depth: disk.MaxDepth + 1}, {MaxTransfer: 511}, {MaxTransfer: 1<<31 + 1}, {MaxSegments: -1}, {MaxSegments: 17},
	} {
		if _, err := disk.Open(t.Context(), u, disktest.NewPort(proc), o); !errors.Is(err, disk.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := disk.Open(t.Context(), u, disktest.NewPort(), disk.Options{}); !errors.Is(err, disk.ErrInvalid) {
		t.Error(err)
	}
}

// A limit of the adapter below a unit's block leaves nothing to send; a small one only makes more commands.
func TestSmallAdapter(t *testing.T) {
	c := with(func(c *disktest.Config) { c.Capacity.BlockSize, c.Capacity.LastLBA = 4096, 99 })
	if _, err := tryRig(t, c, disk.Options{MaxTransfer: 2048}); !errors.Is(err, disk.ErrBlockSize) {
		t.Error(err)
	}
	r := newRig(t, c, disk.Options{MaxTransfer: 4096, MaxSegments: 1})
	for _, op := range []disk.Op{disk.Write, disk.Read, disk.WriteZeroes} {
		if err := r.do(r.request(op, 4096, 5*4096)); err != nil {
			t.Errorf("%v: %v", op, err)
		}
	}
	if n := len(rws(r)); n != 10 {
		t.Errorf("%d commands", n)
	}
}
