package disk_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
)

// trace describes the commands that the unit was sent.
func trace(r *rig) string {
	var all []string
	for _, e := range r.unit.Log {
		text := scsi.CommandName(e.CDB[:])
		if w, err := scsi.ParseWriteSame(e.CDB[:]); err == nil {
			text += fmt.Sprintf(" %d+%d", w.LBA, w.Blocks)
			if w.Unmap {
				text += " unmap"
			}
			if w.NoData {
				text += " no data"
			}
		} else if rw, err := scsi.ParseRW(e.CDB[:]); err == nil {
			text += fmt.Sprintf(" %d+%d", rw.LBA, rw.Blocks)
			if rw.FUA {
				text += " FUA"
			}
		} else if list, err := scsi.ParseUnmapList(e.Data); err == nil && len(e.Data) > 0 {
			for i := range list.Len() {
				text += fmt.Sprintf(" %d+%d", list.At(i).LBA, list.At(i).Blocks)
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// What is unmapped or zeroed, by what commands, and what the blocks read as afterwards. A block is 512 bytes; the
// disk is full of other data before.
func TestUnmapAndZero(t *testing.T) {
	const unmapped, zero, kept = 'u', 'z', 'k'
	for _, c := range []struct {
		name   string
		config func(c *disktest.Config)
		op     disk.Op
		may    bool
		fua    bool
		lba    int
		blocks int
		want   string // commands
		first  byte   // what the first and the middle block are afterwards
		middle byte
	}{
		{"unmap", nil, disk.Unmap, false, false, 8, 16, "UNMAP 8+16", zero, zero},
		{"SBC-4 4.7.3.4: whole granules only", nil, disk.Unmap, false, false, 3, 30, "UNMAP 8+24", kept, zero},
		{"less than a granule", nil, disk.Unmap, false, false, 9, 7, "", kept, kept},
		{"granules not from 0", func(c *disktest.Config) { c.Limits.UnmapAligned, c.Limits.UnmapAlignment = true, 5 },
			disk.Unmap, false, false, 0, 30, "UNMAP 0+29", zero, zero},
		{"in front of the first granule", func(c *disktest.Config) { c.Limits.UnmapAligned, c.Limits.UnmapAlignment = true, 5 },
			disk.Unmap, false, false, 1, 30, "UNMAP 5+24", kept, zero},
		{"the last granule may be short", func(c *disktest.Config) { c.Capacity.LastLBA = 2044 },
			disk.Unmap, false, false, 2030, 15, "UNMAP 2032+13", kept, zero},
		{"within MAXIMUM UNMAP LBA COUNT", func(c *disktest.Config) { c.Limits.MaxUnmapBlocks = 500 },
			disk.Unmap, false, false, 0, 1024, "UNMAP 0+496; UNMAP 496+496; UNMAP 992+32", zero, zero},
		{"durable", nil, disk.Unmap, false, true, 8, 16, "UNMAP 8+16; SYNCHRONIZE CACHE(10)", zero, zero},
		{"without LBPRZ", func(c *disktest.Config) { c.Capacity.ReadsZeros, c.Provisioning.ReadZeros = false, 0 },
			disk.Unmap, false, false, 8, 16, "UNMAP 8+16", unmapped, unmapped},
		{"WRITE SAME(16) is all there is", func(c *disktest.Config) { c.Provisioning.Unmap = false },
			disk.Unmap, false, false, 8, 16, "WRITE SAME(16) 8+16 unmap no data", zero, zero},
		{"WRITE SAME(10) is all there is", func(c *disktest.Config) {
			c.Provisioning.Unmap, c.Provisioning.UnmapByWriteSame = false, false
		}, disk.Unmap, false, false, 8, 16, "WRITE SAME(10) 8+16 unmap", zero, zero},
		{"not thin", func(c *disktest.Config) { c.Capacity.Provisioned = false }, disk.Unmap, false, false, 8, 16, "", kept, kept},
		{"UNMAP turns out not to be known", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpUnmap} },
			disk.Unmap, false, false, 8, 16, "UNMAP 8+16; WRITE SAME(16) 8+16 unmap no data", zero, zero},
		{"nor anything else", func(c *disktest.Config) {
			c.Unknown = []scsi.Opcode{scsi.OpUnmap, scsi.OpWriteSame10, scsi.OpWriteSame16, scsi.OpMaintenanceIn}
		}, disk.Unmap, false, false, 8, 16, "UNMAP 8+16; WRITE SAME(16) 8+16 unmap; WRITE SAME(10) 8+16 unmap", kept, kept},

		{"zero", nil, disk.WriteZeroes, false, false, 3, 30, "WRITE SAME(16) 3+30 no data", zero, zero},
		{"zero, holes allowed", nil, disk.WriteZeroes, true, false, 3, 30, "WRITE SAME(16) 3+30 unmap no data", zero, zero},
		{"holes do not read as zeros", func(c *disktest.Config) { c.Capacity.ReadsZeros, c.Provisioning.ReadZeros = false, 0 },
			disk.WriteZeroes, true, false, 3, 30, "WRITE SAME(16) 3+30 no data", zero, zero},
		{"no NDOB", func(c *disktest.Config) { c.NoData = false },
			disk.WriteZeroes, false, false, 3, 30, "WRITE SAME(16) 3+30", zero, zero},
		{"within MAXIMUM WRITE SAME LENGTH", func(c *disktest.Config) { c.Limits.MaxWriteSame = 1001 },
			disk.WriteZeroes, true, false, 3, 2000,
			"WRITE SAME(16) 3+997 unmap no data; WRITE SAME(16) 1000+1000 unmap no data; WRITE SAME(16) 2000+3 unmap no data", zero, zero},
		{"durable zeros", nil, disk.WriteZeroes, false, true, 3, 30, "WRITE SAME(16) 3+30 no data; SYNCHRONIZE CACHE(10)", zero, zero},
		{"durable zeros, write through", func(c *disktest.Config) { c.WriteCache = false },
			disk.WriteZeroes, false, true, 3, 30, "WRITE SAME(16) 3+30 no data", zero, zero},
		{"not thin, so no holes", func(c *disktest.Config) { c.Capacity.Provisioned = false },
			disk.WriteZeroes, true, false, 3, 30, "WRITE SAME(16) 3+30 no data", zero, zero},
		{"holes by WRITE SAME(10)", func(c *disktest.Config) {
			c.Provisioning.UnmapByWriteSame, c.NoData, c.Limits.MaxUnmapBlocks = false, false, 0
			c.Provisioning.Unmap = true
		}, disk.WriteZeroes, true, false, 0, 8, "WRITE SAME(10) 0+8 unmap", zero, zero},
		{"WRITE SAME(10) only", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpWriteSame16} },
			disk.WriteZeroes, false, false, 3, 30, "WRITE SAME(10) 3+30", zero, zero},
		{"no WRITE SAME", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpWriteSame16, scsi.OpWriteSame10} },
			disk.WriteZeroes, true, false, 3, 300, "WRITE(10) 3+256; WRITE(10) 259+44", zero, zero},
		{"no WRITE SAME, and nobody says so", func(c *disktest.Config) {
			c.Unknown = []scsi.Opcode{scsi.OpWriteSame16, scsi.OpWriteSame10, scsi.OpMaintenanceIn}
		}, disk.WriteZeroes, true, false, 3, 30, "WRITE SAME(16) 3+30 unmap; WRITE SAME(10) 3+30 unmap; WRITE(10) 3+30", zero, zero},
		{"WRITE SAME takes less than it says", func(c *disktest.Config) { c.NoData, c.Limits.MaxWriteSame, c.MaxWriteSame = false, 0, 16 },
			disk.WriteZeroes, false, false, 3, 30, "WRITE SAME(16) 3+30; WRITE SAME(10) 3+30; WRITE(10) 3+30", zero, zero},
		{"zeros written through", func(c *disktest.Config) { c.Unknown = []scsi.Opcode{scsi.OpWriteSame16, scsi.OpWriteSame10} },
			disk.WriteZeroes, false, true, 3, 30, "WRITE(10) 3+30 FUA", zero, zero},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := plain()
			if c.config != nil {
				c.config(&config)
			}
			r := newRig(t, config, disk.Options{})
			fill(r.unit.Data, 1)
			copy(r.unit.Durable, r.unit.Data)
			before := bytes.Clone(r.unit.Data)
			q := r.request(c.op, c.lba*512, c.blocks*512)
			q.MayUnmap, q.FUA = c.may, c.fua
			if err := r.do(q); err != nil {
				t.Fatal(err)
			}
			if got := trace(r); got != c.want {
				t.Errorf("commands %s\nwant     %s", got, c.want)
			}
			for at, want := range map[int]byte{c.lba: c.first, c.lba + c.blocks/2: c.middle, c.lba - 1: kept, c.lba + c.blocks: kept} {
				if at < 0 || at*512 >= len(before) {
					continue
				}
				got := byte(kept)
				switch b := r.unit.Data[at*512:][:512]; {
				case bytes.Equal(b, make([]byte, 512)):
					got = zero
				case !bytes.Equal(b, before[at*512:][:512]):
					got = unmapped
				}
				if got != want {
					t.Errorf("block %d is %c, want %c", at, got, want)
				}
			}
			if c.fua && !bytes.Equal(r.unit.Data, r.unit.Durable) {
				t.Error("not durable")
			}
			// What the unit has refused it is not asked for again.
			r.unit.Log = nil
			if err := r.do(q); err != nil {
				t.Error(err)
			}
			for _, e := range r.unit.Log {
				for _, op := range config.Unknown {
					if scsi.Opcode(e.CDB[0]) == op {
						t.Errorf("%v is tried again", op)
					}
				}
			}
		})
	}
}

// SBC-4 5.37: each descriptor names up to 2^32-1 blocks; a unit without a limit takes several a command.
func TestUnmapOfManyDescriptors(t *testing.T) {
	r := newRig(t, with(func(c *disktest.Config) {
		c.Capacity.LastLBA = 1<<37 - 1
		c.Limits.MaxUnmapBlocks, c.Limits.MaxUnmapDescriptors = math.MaxUint32, math.MaxUint32
	}), disk.Options{})
	q := r.request(disk.Unmap, 0, 1<<37*512)
	if err := r.do(q); err != nil {
		t.Fatal(err)
	}
	next, most := map[uint64]uint64{}, 0
	for _, e := range r.unit.Commands(scsi.OpUnmap) {
		list, err := scsi.ParseUnmapList(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, list.Len())
		for i := range list.Len() {
			x := list.At(i)
			if x.LBA%8 != 0 || x.Blocks%8 != 0 {
				t.Errorf("%+v is not whole granules", x)
			}
			next[x.LBA] = x.LBA + uint64(x.Blocks)
		}
	}
	at := uint64(0)
	for n := next[at]; n != 0; n = next[at] {
		delete(next, at)
		at = n
	}
	if at != 1<<37 || len(next) != 0 || most != 8 {
		t.Errorf("covered to %d, %d left over, %d descriptors at most", at, len(next), most)
	}
}

// Long work leaves slots to others, and goes on after retries.
func TestBulkIsShared(t *testing.T) {
	r := newRig(t, with(func(c *disktest.Config) {
		c.Capacity.LastLBA = 1<<30 - 1
		c.Limits.MaxWriteSame = 1 << 22
	}), disk.Options{Depth: 8})
	n := 0
	r.unit.Hook = func(c *disktest.Command) *disktest.Answer {
		if n++; n%7 == 0 {
			return attention
		}
		return nil
	}
	read := r.request(disk.Read, 0, 512)
	r.submit(r.request(disk.WriteZeroes, 0, 1<<30*512), read)
	r.proc.RunUntilIdle()
	if len(r.order) != 2 || r.order[0] != read || r.order[1].Err != nil {
		t.Fatalf("%d complete", len(r.order))
	}
	if m := r.unit.Most(); m != 5 {
		t.Errorf("%d at the unit at a time, want 4 and the read", m)
	}
}

// A unit that refuses a field does not say much about which: the form is given up bit by bit, and not taken again.
func TestWriteSameIsGivenUpBitByBit(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	field := disktest.Check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	r.unit.Script(scsi.OpWriteSame16, field.Times(3)...)
	r.unit.Script(scsi.OpWriteSame10, field.Times(2)...)
	q := r.request(disk.WriteZeroes, 0, 8*512)
	q.MayUnmap = true
	for range 2 {
		if err := r.do(q); err != nil {
			t.Fatal(err)
		}
	}
	want := "WRITE SAME(16) 0+8 unmap no data; WRITE SAME(16) 0+8 unmap; WRITE SAME(10) 0+8 unmap; WRITE SAME(16) 0+8; " +
		"WRITE SAME(10) 0+8; WRITE(10) 0+8; WRITE(10) 0+8"
	if got := trace(r); got != want {
		t.Errorf("commands %s\nwant     %s", got, want)
	}
}
