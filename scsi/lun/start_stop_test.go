package lun_test

import (
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

func (x *initiator) startStop(c scsi.StartStop) *command { return x.do(0, cdb(&c), nil, 0) }

func startStopEffect(t *testing.T, u *effectUnit) {
	disk := pattern(1, 8*testBlock)
	u.write(0, disk).good()
	before := u.flushed()
	u.startStop(scsi.StartStop{}).good()
	if (u.flushed() > before) != u.count.Info().Volatile {
		t.Errorf("%d flushes before the unit stopped", u.flushed()-before)
	}
	block := disk[:testBlock]
	list := unmapList(scsi.Extent{Blocks: 1})
	for _, k := range []*command{
		u.command(0, make([]byte, 6), nil, 0),
		u.command(0, cdb(&scsi.RW{Blocks: 1}), nil, testBlock),
		u.command(0, cdb(&scsi.RW{Write: true, Blocks: 1}), block, 0),
		u.command(0, cdb(&scsi.Verify{Blocks: 1}), nil, 0),
		u.command(0, cdb(&scsi.WriteSame{Blocks: 1}), block, 0),
		u.command(0, cdb(&scsi.Unmap{ParameterListLength: uint16(len(list))}), list, 0),
		u.command(0, cdb(&scsi.SyncCache{}), nil, 0),
		u.command(0, cdb(&scsi.GetLBAStatus{AllocationLength: 24}), nil, 24),
		u.command(0, cdb(&scsi.PreFetch{}), nil, 0),
		u.command(0, cdb(&scsi.OrWrite{Blocks: 1}), block, 0),
		u.compareAndWrite(0, block, block),
	} {
		k.run().check(scsi.KeyNotReady, scsi.ASCNotReadyInitializing)
	}
	if s := must(scsi.ParseSense(u.do(0, cdb(&scsi.RequestSense{AllocationLength: 18}), nil, 18).good().got)); s.Key != scsi.KeyNotReady || s.ASC != scsi.ASCNotReadyInitializing {
		t.Errorf("REQUEST SENSE: %v", s)
	}
	u.inquiry(0, false, 0)
	u.luns(0, scsi.ReportAddressable)
	u.caching(scsi.PageCurrent)
	u.do(0, cdb(&scsi.ReadCapacity16{AllocationLength: 32}), nil, 32).good()
	u.startStop(scsi.StartStop{Start: true}).good()
	u.ready(0).good()
	u.expect(0, disk)

	before = u.flushed()
	u.startStop(scsi.StartStop{NoFlush: true, Immediate: true}).good()
	if u.flushed() != before {
		t.Error("flushed in spite of NO_FLUSH")
	}
	u.ready(0).check(scsi.KeyNotReady, scsi.ASCNotReadyInitializing)
	u.begin(lun.LogicalUnitReset, 0, 0) // starts it
	u.attentions(0)
	u.holds(0, disk)

	for _, c := range []struct {
		c    scsi.StartStop
		byte uint16
		bit  int8
	}{
		{scsi.StartStop{LoadEject: true}, 4, 1}, {scsi.StartStop{LoadEject: true, Start: true}, 4, 1},
		{scsi.StartStop{Power: 1}, 4, 4}, {scsi.StartStop{Power: 0xb}, 4, 7}, {scsi.StartStop{Modifier: 1}, 3, 0},
	} {
		s, _ := scsi.ParseSense(u.startStop(c.c).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB).Sense())
		if p, ok := s.FieldPointer(); !ok || p.Byte != c.byte || p.Bit != c.bit {
			t.Errorf("%+v: %v", c.c, s)
		}
	}
	u.ready(0).good()
}

// A unit stops when the writes that are under way have ended, and is stopped for every initiator; a command that waited
// meanwhile finds it stopped.
func TestStopWaitsForWrites(t *testing.T) {
	s := newServer()
	gate := luntest.Pause(ram(testSize))
	attach(t, s, 0, lun.Config{Store: gate})
	x, other := newInitiator(t, s), newInitiator(t, s)
	x.attentions(0)
	other.attentions(0)
	write := x.command(0, cdb(&scsi.RW{Write: true, Blocks: 1}), pattern(1, testBlock), 0)
	write.prepare()
	write.fetch()
	gate.Shut()
	write.execute()
	<-gate.Arrived()
	stop := x.command(0, cdb(&scsi.StartStop{}), nil, 0)
	later := other.command(0, cdb(&scsi.RW{Blocks: 1}), nil, testBlock)
	if stop.prepare() != lun.Blocked || later.prepare() != lun.Blocked {
		t.Fatal("does not wait")
	}
	gate.Open()
	x.wait(func() bool { return write.ended > 0 })
	write.good()
	write.release()
	stop.finish()
	stop.good()
	later.finish()
	later.check(scsi.KeyNotReady, scsi.ASCNotReadyInitializing)
	other.startStop(scsi.StartStop{Start: true}).good()
	x.ready(0).good()
}
