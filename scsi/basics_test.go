package scsi

import (
	"errors"
	"testing"
)

func TestRWChoosesTheSmallestCDB(t *testing.T) {
	for _, c := range []struct {
		rw   RW
		want int
	}{
		{RW{LBA: 0xffffffff, Blocks: 0xffff, FUA: true}, 10},
		{RW{LBA: 0x100000000, Blocks: 1, Write: true}, 16},
		{RW{LBA: 1, Blocks: 0x10000, DPO: true, Protect: 5, Group: 63}, 16},
	} {
		var cdb CDB
		n := c.rw.Put(&cdb)
		if n != c.want {
			t.Errorf("%+v: CDB of %d bytes, want %d", c.rw, n, c.want)
		}
		if m, ok := CDBLength(cdb[:]); !ok || m != n {
			t.Errorf("%+v: group code gives %d bytes, want %d", c.rw, m, n)
		}
		if got, err := ParseRW(cdb[:n]); err != nil || got != c.rw {
			t.Errorf("%+v: parsed as %+v, %v", c.rw, got, err)
		}
	}
}

func TestSenseErrorText(t *testing.T) {
	err := error(&SenseError{Status: StatusCheckCondition, HasSense: true, Sense: MakeSense(KeyMediumError, ASCUnrecoveredRead)})
	if got, want := err.Error(), "MEDIUM ERROR: unrecovered read error (11/00)"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if !errors.Is(err, ErrMedium) || errors.Is(err, ErrHardware) {
		t.Error("wrong class")
	}
}
