package lun_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"minisrp/scsi"
	"minisrp/scsi/lun"
)

func unmapList(extents ...scsi.Extent) []byte {
	b := make([]byte, scsi.UnmapListSize(len(extents)))
	if _, err := scsi.PutUnmapList(b, extents); err != nil {
		panic(err)
	}
	return b
}

func (x *initiator) unmap(extents ...scsi.Extent) *command {
	list := unmapList(extents...)
	return x.do(0, cdb(&scsi.Unmap{ParameterListLength: uint16(len(list))}), list, 0)
}

// Unmapped blocks read as zeros (LBPRZ), the others as they were.
func TestUnmapReadsZeros(t *testing.T) {
	withUnit(t, func(t *testing.T, x *initiator) {
		disk := pattern(1, 1<<20)
		x.write(0, disk).good()
		x.unmap(scsi.Extent{LBA: 1, Blocks: 1}, scsi.Extent{LBA: 100, Blocks: 0}, scsi.Extent{LBA: 64, Blocks: 999}).good()
		clear(disk[testBlock : 2*testBlock])
		clear(disk[64*testBlock : (64+999)*testBlock])
		x.expect(0, disk)
		x.do(0, cdb(&scsi.Unmap{}), nil, 0).good()
		x.do(0, cdb(&scsi.Unmap{ParameterListLength: 8}), unmapList(), 0).good()
	})
}

// A list that cannot be done in whole is not done in part.
func TestUnmapRefused(t *testing.T) {
	withUnit(t, func(t *testing.T, x *initiator) {
		disk := pattern(2, 1<<20)
		x.write(0, disk).good()
		good := scsi.Extent{LBA: 0, Blocks: 8}
		x.unmap(good, scsi.Extent{LBA: testBlocks, Blocks: 1}).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
		x.unmap(good, scsi.Extent{LBA: 1<<64 - 1, Blocks: 1<<32 - 1}).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)

		list := unmapList(good)
		short := cdb(&scsi.Unmap{ParameterListLength: 7})
		x.do(0, short, list, 0).check(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
		list[1] = 200 // claims more than there is
		x.do(0, cdb(&scsi.Unmap{ParameterListLength: 24}), list, 0).check(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
		x.do(0, cdb(&scsi.Unmap{ParameterListLength: 24}), list[:8], 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		x.do(0, cdb(&scsi.Unmap{Anchor: true, ParameterListLength: 24}), unmapList(good), 0).
			check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		x.do(0, cdb(&scsi.Unmap{ParameterListLength: 5000}), make([]byte, 5000), 0).
			check(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
		x.expect(0, disk)
	})
}

func TestUnmapAsManyAsTold(t *testing.T) {
	withUnit(t, func(t *testing.T, x *initiator) {
		v, err := scsi.ParseVPD(x.do(0, cdb(&scsi.Inquiry{EVPD: true, Page: scsi.VPDBlockLimits, AllocationLength: 64}), nil, 64).good().got, scsi.VPDBlockLimits)
		if err != nil {
			t.Fatal(err)
		}
		limits := must(scsi.ParseBlockLimits(v.Body))
		disk := pattern(3, 1<<20)
		x.write(0, disk).good()
		var extents []scsi.Extent
		for i := range limits.MaxUnmapDescriptors {
			extents = append(extents, scsi.Extent{LBA: uint64(4 * i), Blocks: 1})
			clear(disk[4*i*testBlock:][:testBlock])
		}
		x.unmap(extents...).good()
		x.expect(0, disk)
	})
}

func TestWriteSame(t *testing.T) {
	withUnit(t, func(t *testing.T, x *initiator) {
		disk := pattern(4, 4<<20)
		x.write(0, disk).good()
		fill := func(lba, n int, block []byte) {
			for i := range n {
				copy(disk[(lba+i)*testBlock:], block)
			}
		}
		block, zeros := pattern(5, testBlock), make([]byte, testBlock)
		for _, c := range []struct {
			same scsi.WriteSame
			data []byte
		}{
			{scsi.WriteSame{LBA: 1, Blocks: 1}, block},
			{scsi.WriteSame{LBA: 10, Blocks: 1000}, block},
			{scsi.WriteSame{LBA: 2000, Blocks: 333}, zeros},
			{scsi.WriteSame{LBA: 2500, Blocks: 64, Unmap: true}, zeros},
			{scsi.WriteSame{LBA: 2700, Blocks: 64, Unmap: true}, block}, // not what unmapped blocks read as, so it is written
			{scsi.WriteSame{LBA: 3000, Blocks: 3000, NoData: true, Unmap: true}, nil},
			{scsi.WriteSame{LBA: 7000, Blocks: 3, NoData: true}, nil},
		} {
			x.do(0, cdb(&c.same), c.data, 0).good()
			if c.data == nil {
				c.data = zeros
			}
			fill(int(c.same.LBA), int(c.same.Blocks), c.data)
			var wide scsi.CDB
			c.same.LBA += 1 << 12
			c.same.LBA %= 1 << 13
			if c.same.LBA+uint64(c.same.Blocks) <= 1<<13 {
				c.same.Put16(&wide)
				if c.same.NoData {
					x.do(0, wide[:], nil, 0).good()
				} else {
					x.do(0, wide[:], c.data, 0).good()
				}
				fill(int(c.same.LBA), int(c.same.Blocks), c.data)
			}
		}
		x.expect(0, disk)

		for _, c := range []scsi.WriteSame{{LBA: 5}, {Blocks: 1, Anchor: true}, {Blocks: 1, Protect: 1}} {
			x.do(0, cdb(&c), block, 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		}
		x.do(0, cdb(&scsi.WriteSame{Blocks: 1}), block[:100], 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		x.do(0, cdb(&scsi.WriteSame{LBA: testBlocks, Blocks: 1}), block, 0).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
		x.expect(0, disk)
	})
}

// allocated returns the bytes that a file takes on its file system.
func allocated(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Sys().(*syscall.Stat_t).Blocks * 512
}

// nextData returns where the first data at or behind off is, or -1.
func nextData(t *testing.T, path string, off int64) int64 {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	at, err := unix.Seek(fd, off, unix.SEEK_DATA)
	if err != nil {
		return -1
	}
	return at
}

// needHoles skips a test where the file system has no holes.
func needHoles(t *testing.T) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096); err != nil {
		t.Skip("the file system of the temporary directory has no holes")
	}
}

// A new file is a hole, UNMAP and WRITE SAME of zeros with the UNMAP bit make holes, and WRITE SAME of zeros without
// it keeps the space.
func TestFileHoles(t *testing.T) {
	needHoles(t)
	path := filepath.Join(t.TempDir(), "disk")
	f, err := lun.OpenFile(path, lun.FileOptions{Size: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer()
	attach(t, s, 0, lun.Config{Store: f})
	x := newInitiator(t, s)
	x.attentions(0)
	if n := allocated(t, path); n > 1<<20 {
		t.Errorf("a new file of 64 MiB takes %d bytes", n)
	}
	data := pattern(6, 1<<20)
	fill := func() int64 {
		x.write(0, data).good()
		x.do(0, cdb(&scsi.SyncCache{}), nil, 0).good()
		n := allocated(t, path)
		if n < 1<<20 || nextData(t, path, 0) != 0 {
			t.Fatalf("1 MiB written takes %d bytes, data at %d", n, nextData(t, path, 0))
		}
		return n
	}
	const half = 1 << 20 / 2 / testBlock

	full := fill()
	x.unmap(scsi.Extent{LBA: 0, Blocks: half}).good()
	if n, at := allocated(t, path), nextData(t, path, 0); n != full-1<<19 || at != 1<<19 {
		t.Errorf("UNMAP of 512 KiB of 1 MiB leaves %d bytes of %d, data at %d", n, full, at)
	}
	fill()
	x.do(0, cdb(&scsi.WriteSame{Blocks: half, Unmap: true}), make([]byte, testBlock), 0).good()
	if n, at := allocated(t, path), nextData(t, path, 0); n != full-1<<19 || at != 1<<19 {
		t.Errorf("WRITE SAME with UNMAP leaves %d bytes of %d, data at %d", n, full, at)
	}
	fill()
	x.do(0, cdb(&scsi.WriteSame{Blocks: half, NoData: true}), nil, 0).good()
	x.do(0, cdb(&scsi.SyncCache{}), nil, 0).good()
	if n, at := allocated(t, path), nextData(t, path, 0); n < full || at == 0 {
		t.Errorf("WRITE SAME of zeros leaves %d bytes of %d, data at %d", n, full, at)
	}
	x.expect(0, append(make([]byte, 1<<19), data[1<<19:]...))

	// Blocks smaller than the file system's are cleared, not punched.
	fill()
	x.unmap(scsi.Extent{LBA: 1, Blocks: 1}).good()
	clear(data[testBlock : 2*testBlock])
	x.expect(0, data)
	if st, err := os.Stat(path); err != nil || st.Size() != 64<<20 {
		t.Errorf("size %d, %v: the file must keep it", st.Size(), err)
	}
	if raw, err := os.ReadFile(path); err != nil || !bytes.Equal(raw[:len(data)], data) {
		t.Errorf("the file's bytes are not the disk's: %v", err)
	}
}
