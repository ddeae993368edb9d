package disk_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
)

// mapped is what a unit says of its blocks, as Extents.
func mapped(u *disktest.Unit, offset, length uint64, zero bool, room int) []disk.Extent {
	size := uint64(u.Config.Capacity.BlockSize)
	var all []disk.Extent
	for at := offset; at < offset+length; at += size {
		hole := u.Unmapped[at/size]
		if n := len(all); n == 0 || all[n-1].Hole != hole {
			if n == room {
				break
			}
			all = append(all, disk.Extent{Hole: hole, Zero: hole && zero})
		}
		all[len(all)-1].Length += size
	}
	return all
}

// SBC-4 5.6: what GET LBA STATUS says, in as many commands as it takes, is told as extents.
func TestStatus(t *testing.T) {
	for _, zero := range []bool{true, false} {
		r := newRig(t, with(func(c *disktest.Config) {
			c.LBAStatus = true
			c.Capacity.ReadsZeros, c.Provisioning.ReadZeros = zero, 0
		}), disk.Options{})
		if i := r.disk.Info(); !i.Extents {
			t.Fatalf("%+v", i)
		}
		rng := rand.New(rand.NewPCG(5, 5))
		for i := range r.unit.Unmapped {
			r.unit.Unmapped[i] = i < 1000 && rng.IntN(3) == 0
		}
		for range 300 {
			at := rng.IntN(2048)
			q := r.request(disk.Status, at*512, (1+rng.IntN(2048-at))*512)
			room := 1 + rng.IntN(600)
			q.Extents = make([]disk.Extent, room)
			if err := r.do(q); err != nil {
				t.Fatal(err)
			}
			if want := mapped(r.unit, q.Offset, q.Length, zero, room); !reflect.DeepEqual(q.Extents, want) {
				t.Fatalf("from %d, %d bytes, room for %d: %v\nwant %v", q.Offset, q.Length, room, q.Extents, want)
			}
		}
	}
}

// A unit that cannot tell is said to keep everything.
func TestStatusUnknown(t *testing.T) {
	all := []disk.Extent{{Length: 1024 * 512}}
	for _, c := range []struct {
		name   string
		config func(c *disktest.Config)
		offers bool
		want   string // commands, the first and the second time
	}{
		{"it says that it does not know the command", func(c *disktest.Config) {}, false, ""},
		{"not thin", func(c *disktest.Config) { c.LBAStatus, c.Capacity.Provisioned = true, false }, false, ""},
		{"it says nothing, and refuses", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpMaintenanceIn} }, true, "GET LBA STATUS(16)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := plain()
			c.config(&config)
			r := newRig(t, config, disk.Options{})
			if got := r.disk.Info().Extents; got != c.offers {
				t.Errorf("Info.Extents is %t", got)
			}
			for _, want := range []string{c.want, ""} {
				r.unit.Log = nil
				q := r.request(disk.Status, 0, 1024*512)
				q.Extents = make([]disk.Extent, 4)
				if err := r.do(q); err != nil || !reflect.DeepEqual(q.Extents, all) {
					t.Errorf("%v, %v", q.Extents, err)
				}
				if got := trace(r); got != want {
					t.Errorf("commands %q, want %q", got, want)
				}
			}
		})
	}
}

// Answers that are of no use, and statuses that there are no extents for.
func TestStatusAnswers(t *testing.T) {
	answer := func(runs ...scsi.LBAStatus) *disktest.Answer {
		b := scsi.AppendLBAStatusHeader(nil, len(runs))
		for i := range runs {
			b = runs[i].Append(b)
		}
		return &disktest.Answer{Data: b, Status: miniport.StatusSuccess}
	}
	run := func(lba uint64, blocks uint32, p scsi.ProvisioningStatus) scsi.LBAStatus {
		return scsi.LBAStatus{LBA: lba, Blocks: blocks, Status: p}
	}
	const kb = 1024
	kept := []disk.Extent{{Length: 16 * 512}}
	for _, c := range []struct {
		name    string
		answers []*disktest.Answer
		want    []disk.Extent
	}{
		{"nothing", []*disktest.Answer{answer()}, kept},
		{"a header that is cut", []*disktest.Answer{{Data: []byte{0, 0, 0}, Status: miniport.StatusSuccess}}, kept},
		{"other blocks", []*disktest.Answer{answer(run(500, 10, scsi.LBADeallocated))}, kept},
		{"no blocks", []*disktest.Answer{answer(run(100, 0, scsi.LBADeallocated))}, kept},
		{"from before", []*disktest.Answer{answer(run(90, 14, scsi.LBADeallocated), run(104, 100, scsi.LBAMapped))},
			[]disk.Extent{{2 * kb, true, true}, {6 * kb, false, false}}},
		{"a gap", []*disktest.Answer{answer(run(100, 4, scsi.LBADeallocated), run(106, 10, scsi.LBADeallocated)),
			answer(run(104, 12, scsi.LBAUnknown))}, []disk.Extent{{2 * kb, true, true}, {6 * kb, false, false}}},
		{"anchored", []*disktest.Answer{answer(run(100, 8, scsi.LBAAnchored), run(108, 8, scsi.LBAMappedOrUnknown))},
			[]disk.Extent{{4 * kb, false, true}, {4 * kb, false, false}}},
		{"after an attention", []*disktest.Answer{disktest.Check(scsi.KeyUnitAttention, scsi.ASCCommandsCleared),
			answer(run(100, 16, scsi.LBADeallocated))}, []disk.Extent{{8 * kb, true, true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, with(func(c *disktest.Config) { c.LBAStatus = true }), disk.Options{})
			r.unit.Script(scsi.OpServiceActionIn, c.answers...)
			q := r.request(disk.Status, 100*512, 16*512)
			q.Extents = make([]disk.Extent, 4)
			if err := r.do(q); err != nil || !reflect.DeepEqual(q.Extents, c.want) {
				t.Errorf("%v, %v, want %v", q.Extents, err, c.want)
			}
		})
	}
	r := newRig(t, with(func(c *disktest.Config) { c.LBAStatus = true }), disk.Options{})
	r.unit.Script(scsi.OpServiceActionIn, disktest.Check(scsi.KeyHardwareError, 0x4400))
	q := r.request(disk.Status, 0, 512)
	q.Extents = make([]disk.Extent, 1)
	if err := r.do(q); !errors.Is(err, disk.ErrIO) {
		t.Error(err)
	}
	q.Extents = nil
	if err := r.do(q); !errors.Is(err, disk.ErrInvalid) {
		t.Errorf("without room: %v", err)
	}
}

// Status and Prefetch change nothing, so a write-protected disk has them.
func TestStatusReadOnly(t *testing.T) {
	r := newRig(t, with(func(c *disktest.Config) { c.LBAStatus, c.Prefetch, c.WriteProtected = true, true, true }), disk.Options{})
	for _, op := range []disk.Op{disk.Status, disk.Prefetch} {
		q := r.request(op, 0, 512)
		q.Extents = make([]disk.Extent, 1)
		if err := r.do(q); err != nil {
			t.Errorf("%v: %v", op, err)
		}
	}
}

// SBC-4 5.13: in commands of MAXIMUM PREFETCH LENGTH, and none to a unit that does not say that it knows them.
func TestPrefetch(t *testing.T) {
	for _, c := range []struct {
		name     string
		config   func(c *disktest.Config)
		prefetch bool
		want     string
	}{
		{"known", func(c *disktest.Config) { c.Prefetch = true }, true, "PRE-FETCH(16)"},
		{"limited", func(c *disktest.Config) { c.Prefetch, c.Limits.MaxPrefetch = true, 700 }, true, "PRE-FETCH(16); PRE-FETCH(16)"},
		{"unknown", func(c *disktest.Config) {}, false, ""},
		{"it does not say", func(c *disktest.Config) { c.Prefetch, c.Unknown = true, []scsi.Opcode{scsi.OpMaintenanceIn} }, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, with(c.config), disk.Options{})
			if got := r.disk.Info().Prefetch; got != c.prefetch {
				t.Errorf("Info.Prefetch is %t", got)
			}
			r.unit.Script(scsi.OpPreFetch16, disktest.Ends(scsi.StatusConditionMet))
			if err := r.do(r.request(disk.Prefetch, 0, 1000*512)); err != nil {
				t.Error(err)
			}
			if got := trace(r); got != c.want {
				t.Errorf("commands %q, want %q", got, c.want)
			}
		})
	}
}

// Fast zeroing unmaps, or fails at once and changes nothing.
func TestZeroFast(t *testing.T) {
	for _, c := range []struct {
		name   string
		config func(c *disktest.Config)
		may    bool
		fast   bool
	}{
		{"holes", func(c *disktest.Config) {}, true, true},
		{"by WRITE SAME(10)", func(c *disktest.Config) { c.Provisioning.UnmapByWriteSame = false }, true, true},
		{"no holes wanted", func(c *disktest.Config) {}, false, false},
		{"holes do not read as zeros", func(c *disktest.Config) { c.Capacity.ReadsZeros, c.Provisioning.ReadZeros = false, 0 }, true, false},
		{"not thin", func(c *disktest.Config) { c.Capacity.Provisioned = false }, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, with(c.config), disk.Options{})
			q := r.request(disk.WriteZeroes, 0, 100*512)
			q.MayUnmap, q.Fast = c.may, true
			if err := r.do(q); errors.Is(err, disk.ErrSlow) == c.fast || c.fast && err != nil {
				t.Errorf("%v", err)
			}
			if !c.fast && len(r.unit.Log) != 0 {
				t.Errorf("commands %s", trace(r))
			}
		})
	}
}
