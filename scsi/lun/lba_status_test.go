package lun_test

import (
	"context"
	"errors"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
)

// lbaStatus asks for the status of the blocks from lba on, with room for n runs.
func (x *initiator) lbaStatus(lba uint64, n int) (runs []scsi.LBAStatus) {
	x.tb.Helper()
	room := scsi.LBAStatusHeaderSize + n*scsi.LBAStatusSize
	b := x.do(0, cdb(&scsi.GetLBAStatus{LBA: lba, AllocationLength: uint32(room)}), nil, room).good().got
	l, err := scsi.ParseLBAStatus(b)
	if err != nil || len(b) > room || len(b) != scsi.LBAStatusHeaderSize+l.Len()*scsi.LBAStatusSize || l.Len() == 0 {
		x.tb.Fatalf("%d bytes for %d runs, %v", len(b), l.Len(), err)
	}
	for i := range l.Len() {
		runs = append(runs, l.At(i))
	}
	return runs
}

// wantRuns holds runs to be without gaps, and to say of each block what hole says of it, or that it is mapped.
func wantRuns(t *testing.T, runs []scsi.LBAStatus, from uint64, hole func(lba uint64) bool) {
	t.Helper()
	for i, r := range runs {
		if r.LBA != from || r.Blocks == 0 {
			t.Fatalf("run %d is %+v, want one at %d", i, r, from)
		}
		for b := r.LBA; b < r.LBA+uint64(r.Blocks); b++ {
			if want := hole(b); want != (r.Status == scsi.LBADeallocated) {
				t.Fatalf("block %d has status %d, a hole: %v", b, r.Status, want)
			}
		}
		from += uint64(r.Blocks)
	}
}

func lbaStatusEffect(t *testing.T, u *effectUnit) {
	_, sparse := u.count.Below().(lun.Sparse)
	if sparse {
		needHoles(t)
	}
	u.put(64, pattern(1, 256*testBlock)) // on boundaries of 32 KiB, whatever the store keeps together
	u.unmap(scsi.Extent{LBA: 128, Blocks: 64}).good()
	u.do(0, cdb(&scsi.SyncCache{}), nil, 0).good()
	for range 2 {
		runs := u.lbaStatus(0, 100)
		wantRuns(t, runs, 0, func(lba uint64) bool {
			return sparse && (lba < 64 || lba >= 128 && lba < 192 || lba >= 320)
		})
		if last := runs[len(runs)-1]; last.LBA+uint64(last.Blocks) != testBlocks {
			t.Errorf("the last run is %+v", last)
		}
		if want := 5; sparse && len(runs) != want {
			t.Errorf("%d runs, want %d: %+v", len(runs), want, runs)
		}
		if !u.reopen() {
			break
		}
	}
	if sparse {
		if runs := u.lbaStatus(100, 1); runs[0] != (scsi.LBAStatus{LBA: 100, Blocks: 28}) || len(runs) != 1 {
			t.Errorf("from block 100: %+v", runs)
		}
		if runs := u.lbaStatus(150, 2); len(runs) != 2 || runs[0] != (scsi.LBAStatus{LBA: 150, Blocks: 42, Status: scsi.LBADeallocated}) {
			t.Errorf("from block 150: %+v", runs)
		}
	}
	u.do(0, cdb(&scsi.GetLBAStatus{LBA: testBlocks, AllocationLength: 24}), nil, 24).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
	c := u.do(0, cdb(&scsi.GetLBAStatus{AllocationLength: 20}), nil, 512).good() // less than one run
	if len(c.got) != 20 || c.InResidual != 512-20 {
		t.Errorf("%d bytes, residual %d", len(c.got), c.InResidual)
	}
	u.do(0, cdb(&scsi.GetLBAStatus{}), nil, 0).good()
}

// A null unit has nothing; a hole that does not fill blocks of 4 KiB is none; what the file system cannot say is data.
func TestLBAStatusOfOtherStores(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: must(lun.NewNull(1<<44, 512))})
	x := newInitiator(t, s)
	x.attentions(0)
	runs := x.lbaStatus(5, 100)
	if len(runs) != 9 || runs[0] != (scsi.LBAStatus{LBA: 5, Blocks: 1<<32 - 1, Status: scsi.LBADeallocated}) {
		t.Errorf("null: %d runs, %+v", len(runs), runs[0])
	}

	s = newServer()
	odd := &oddHoles{Store: must(lun.NewNull(40960, 4096))}
	attach(t, s, 0, lun.Config{Store: odd})
	x = newInitiator(t, s)
	x.attentions(0)
	wantRuns(t, x.lbaStatus(0, 100), 0, func(lba uint64) bool { return lba == 2 || lba == 3 || lba == 9 })
	odd.err = errors.New("cannot say")
	x.do(0, cdb(&scsi.GetLBAStatus{AllocationLength: 512}), nil, 512).check(scsi.KeyMediumError, scsi.ASCUnrecoveredRead)
}

// oddHoles has a hole from byte 7000 to 17000, and one from 36864 to the end.
type oddHoles struct {
	lun.Store
	err error
}

func (o *oddHoles) Extent(ctx context.Context, off uint64) (bool, uint64, error) {
	switch {
	case off < 7000:
		return false, 7000 - off, o.err
	case off < 17000:
		return true, 17000 - off, o.err
	case off < 36864:
		return false, 36864 - off, o.err
	}
	return true, 40960 - off, o.err
}
