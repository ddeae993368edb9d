package lun_test

import (
	"context"
	"errors"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/verbs/dispatch"
)

func (x *initiator) ready(n uint8) *command { return x.do(n, make([]byte, 6), nil, 0) }

// Each nexus is told once of each event, the most important first (SAM-5 5.14, SPC-5 table of codes).
func TestUnitAttentions(t *testing.T) {
	s := newServer()
	size := &resizable{Store: ram(testSize), size: testSize}
	u := attach(t, s, 0, lun.Config{Store: size, Serial: "0"})
	a, b := newInitiator(t, s), newInitiator(t, s)

	for _, x := range []*initiator{a, b} {
		x.ready(0).check(scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
		x.ready(0).good()
	}

	a.manage(lun.LogicalUnitReset, 0, 0)
	a.ready(0).check(scsi.KeyUnitAttention, scsi.ASCTargetReset)
	a.ready(0).good()

	size.size = testSize / 2
	if err := u.CapacityChanged(); err != nil {
		t.Fatal(err)
	}
	a.ready(0).check(scsi.KeyUnitAttention, scsi.ASCCapacityChanged)
	if got := must(scsi.ParseCapacity16(a.do(0, cdb(&scsi.ReadCapacity16{AllocationLength: 32}), nil, 32).good().got)); got.LastLBA != testBlocks/2-1 {
		t.Errorf("capacity after the change: %+v", got)
	}
	a.do(0, cdb(&scsi.RW{LBA: testBlocks / 2, Blocks: 1}), nil, testBlock).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)

	attach(t, s, 5, lun.Config{Store: ram(testSize), Serial: "5"})
	a.ready(0).check(scsi.KeyUnitAttention, scsi.ASCReportedLUNsChanged)
	a.ready(5).check(scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
	a.ready(5).good()
	a.ready(0).good()

	for _, code := range []scsi.ASC{scsi.ASCTargetReset, scsi.ASCCapacityChanged, scsi.ASCReportedLUNsChanged} {
		b.ready(0).check(scsi.KeyUnitAttention, code) // b has missed all three
	}
	b.ready(0).good()
	size.size = 7
	if err := u.CapacityChanged(); !errors.Is(err, lun.ErrGeometry) {
		t.Errorf("a size of 7 bytes: %v", err)
	}
	b.ready(0).good()
}

// INQUIRY, REPORT LUNS and REQUEST SENSE are carried out in spite of a unit attention; the last hands it out.
func TestAttentionExemptions(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: ram(testSize)})
	x := newInitiator(t, s)
	x.inquiry(0, false, 0)
	x.luns(0, scsi.ReportAddressable)
	for _, descriptor := range []bool{false, true} {
		x.manage(lun.LogicalUnitReset, 0, 0)
		rs := cdb(&scsi.RequestSense{Descriptor: descriptor, AllocationLength: 252})
		codes := []scsi.ASC{scsi.ASCTargetReset, scsi.ASCNone}
		if !descriptor {
			codes = []scsi.ASC{scsi.ASCPowerOnReset, scsi.ASCNone} // the reset is younger than the nexus' first look
		}
		for _, code := range codes {
			got := must(scsi.ParseSense(x.do(0, rs, nil, 252).good().got))
			if got.ASC != code || got.Descriptor != descriptor {
				t.Errorf("REQUEST SENSE gives %v, want %v", got, code)
			}
		}
		x.ready(0).good()
	}
	x.do(0, []byte{0xff}, nil, 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidOpcode)
	x.manage(lun.LogicalUnitReset, 0, 0)
	x.do(0, []byte{0xff}, nil, 0).check(scsi.KeyUnitAttention, scsi.ASCTargetReset) // comes before the operation code
}

// REPORT LUNS clears REPORTED LUNS DATA HAS CHANGED: the initiator knows now (SPC-5 6.33).
func TestReportLUNsClearsAttention(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: ram(testSize), Serial: "0"})
	x := newInitiator(t, s)
	x.attentions(0)
	attach(t, s, 1, lun.Config{Store: ram(testSize), Serial: "1"})
	x.luns(0, scsi.ReportAddressable)
	x.ready(0).good()
	attach(t, s, 2, lun.Config{Store: ram(testSize), Serial: "2"})
	x.ready(0).check(scsi.KeyUnitAttention, scsi.ASCReportedLUNsChanged)
}

// A unit that takes another's LUN is a new one.
func TestAttentionOfReplacedUnit(t *testing.T) {
	s := newServer()
	x := newInitiator(t, s)
	for i := range 2 {
		u := must(lun.NewUnit(s.Processor(), lun.Config{Store: ram(testSize), Serial: "x"}))
		if err := s.Attach(0, u); err != nil {
			t.Fatal(err)
		}
		x.ready(0).check(scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
		x.ready(0).good()
		if got := must(s.Detach(0)); got != u {
			t.Fatalf("round %d: detached another unit", i)
		}
		x.ready(0).check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
		if err := u.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// Close waits for the tasks that are left, takes no new ones, and gives up when its context ends.
func TestCloseWaitsForTasks(t *testing.T) {
	s := newServer()
	count := luntest.Count(ram(testSize))
	u := must(lun.NewUnit(s.Processor(), lun.Config{Store: count, Serial: "x"}))
	if err := s.Attach(0, u); err != nil {
		t.Fatal(err)
	}
	x := newInitiator(t, s)
	x.attentions(0)
	c := x.command(0, cdb(&scsi.RW{Write: true, Blocks: 1}), pattern(1, testBlock), 0)
	c.prepare()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := u.Close(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("Close with a task left: %v", err)
	}
	x.ready(0).check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported) // still attached, but closing
	c.fetch()
	if c.execute() == lun.Pending {
		x.wait(func() bool { return c.ended > 0 })
	}
	c.good()
	closed := make(chan error)
	go func() { closed <- u.Close(context.Background()) }()
	c.release()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if n, _ := count.Calls(luntest.Write); n != 1 {
		t.Errorf("%d writes", n)
	}
}

// resizable is a store that says what size it is told to.
type resizable struct {
	lun.Store
	size uint64
}

func (r *resizable) Info() lun.Info {
	i := r.Store.Info()
	i.Size = r.size
	return i
}

// function runs a task management function on its way.
type function struct {
	lun.TMF
	x    *initiator
	done int
}

func (m *function) FunctionDone(f *dispatch.Frame, _ *lun.TMF) { m.done++ }

// begin starts a task management function.
func (x *initiator) begin(fn lun.Function, n uint8, tag uint64) *function {
	m := &function{x: x}
	m.Init(x.server, m)
	m.Function, m.Nexus, m.LUN, m.Tag = fn, &x.nexus, scsi.PeripheralLUN(n), tag
	x.at(func(f *dispatch.Frame) {
		x.server.Manage(f, &m.TMF)
		if m.done != 0 {
			x.tb.Error("FunctionDone inside Manage")
		}
	})
	return m
}

// manage runs a task management function that must be complete at once.
func (x *initiator) manage(fn lun.Function, n uint8, tag uint64) {
	x.tb.Helper()
	if m := x.begin(fn, n, tag); m.done != 1 || m.Response != lun.FunctionComplete {
		x.tb.Fatalf("function %d: done %d times, response %d", fn, m.done, m.Response)
	}
}
