package lun_test

import (
	"bytes"
	"context"
	"testing"

	"golang.org/x/sys/unix"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

// differs fails the test if the command did not end with MISCOMPARE at the byte of its data.
func (c *command) differs(at uint64) {
	c.x.tb.Helper()
	s, _ := scsi.ParseSense(c.check(scsi.KeyMiscompare, scsi.ASCMiscompare).Sense())
	if !s.InformationValid || s.Information != at {
		c.x.tb.Fatalf("%v, want byte %d", s, at)
	}
}

func verifyEffect(size int) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		disk := pattern(1, 2048*testBlock)
		copy(disk[100*testBlock:], bytes.Repeat(disk[:testBlock], 20))
		u.put(0, disk)
		verify := func(check uint8, lba uint64, blocks uint32, data []byte) *command {
			return u.do(0, sized(&scsi.Verify{Check: check, LBA: lba, Blocks: blocks}, size), data, 0)
		}
		verify(scsi.CheckMedium, 0, 2048, nil).good()
		verify(scsi.CheckBytes, 7, 2000, bytes.Clone(disk[7*testBlock:2007*testBlock])).good()
		verify(scsi.CheckSame, 100, 20, bytes.Clone(disk[:testBlock])).good()
		verify(scsi.CheckBytes, 7, 0, nil).good()

		for _, at := range []int{0, 1, 511, 512, 4095, 4096, 300_001, 2000*testBlock - 1} {
			data := bytes.Clone(disk[7*testBlock : 2007*testBlock])
			data[at] ^= 0x10
			verify(scsi.CheckBytes, 7, 2000, data).differs(uint64(at))
		}
		block := bytes.Clone(disk[:testBlock])
		block[77] ^= 1
		verify(scsi.CheckSame, 100, 20, block).differs(77)
		verify(scsi.CheckSame, 100, 21, disk[:testBlock]).check(scsi.KeyMiscompare, scsi.ASCMiscompare)
		u.holds(0, disk)

		verify(2, 0, 1, block).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		verify(scsi.CheckMedium, testBlocks, 1, nil).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
		verify(scsi.CheckBytes, 0, 2, block).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB) // one block of two
		verify(scsi.CheckMedium, 0, lun.MaxTransfer/testBlock+1, nil).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
}

func writeVerifyEffect(size int) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		disk := pattern(1, 64*testBlock)
		u.put(0, disk)
		for i, check := range []uint8{scsi.CheckMedium, scsi.CheckBytes} {
			before := u.count.FUA()
			data := pattern(uint64(10+i), 20*testBlock)
			u.do(0, sized(&scsi.Verify{Write: true, Check: check, LBA: uint64(3 + i), Blocks: 20}, size), data, 0).good()
			copy(disk[(3+i)*testBlock:], data)
			if want := map[bool]int64{true: 1}[u.count.Info().Volatile]; u.count.FUA()-before != want {
				t.Errorf("%d writes went to the medium, want %d", u.count.FUA()-before, want)
			}
		}
		u.holds(0, disk)
		u.do(0, sized(&scsi.Verify{Write: true, Check: scsi.CheckSame, Blocks: 1}, size), pattern(3, testBlock), 0).
			check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		u.holds(0, disk)
	}
}

// VERIFY finds what cannot be read, and WRITE AND VERIFY what was not written as it should have been.
func TestVerifyFindsFaults(t *testing.T) {
	s := newServer()
	var fail error
	store := ram(testSize)
	forgetful := &forgetful{Store: luntest.Fail(store, func(c luntest.Call) error {
		if c.Op == luntest.Read {
			return fail
		}
		return nil
	})}
	attach(t, s, 0, lun.Config{Store: forgetful})
	x := newInitiator(t, s)
	x.attentions(0)
	verify := cdb(&scsi.Verify{LBA: 4, Blocks: 8})
	x.do(0, verify, nil, 0).good()
	fail = unix.EIO
	x.do(0, verify, nil, 0).check(scsi.KeyMediumError, scsi.ASCUnrecoveredRead)
	fail = nil
	data := pattern(5, 8*testBlock)
	write := cdb(&scsi.Verify{Write: true, LBA: 4, Blocks: 8})
	x.do(0, write, data, 0).good()
	forgetful.on = true
	data = pattern(6, 8*testBlock)
	x.do(0, write, data, 0).check(scsi.KeyMiscompare, scsi.ASCMiscompare)
}

// forgetful is a store that takes writes and does not do them.
type forgetful struct {
	lun.Store
	on bool
}

func (f *forgetful) Write(ctx context.Context, p [][]byte, off uint64, fua bool) error {
	if f.on {
		return nil
	}
	return f.Store.Write(ctx, p, off, fua)
}
