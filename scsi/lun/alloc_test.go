package lun_test

import (
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/verbs/dispatch"
)

// loop runs one command over and over as a target would.
type loop struct {
	s *lun.Server
	t lun.Task
	f dispatch.Frame
}

func (l *loop) TaskReady(*dispatch.Frame, *lun.Task, lun.Verdict) { panic("blocked") }
func (l *loop) TaskDone(*dispatch.Frame, *lun.Task)               { panic("waited for") }

func newLoop(tb testing.TB, store lun.Store) *loop {
	l := &loop{s: newServer()}
	attach(tb, l.s, 0, lun.Config{Store: store})
	x := newInitiator(tb, l.s)
	x.attentions(0)
	l.t.Init(l.s, l)
	l.t.Nexus = &x.nexus
	return l
}

func (l *loop) step(tb testing.TB, data [][]byte) {
	p := l.s.Processor()
	p.Raise(&l.f)
	if l.s.Prepare(&l.f, &l.t) == lun.Proceed {
		l.t.Data = data
		if l.s.Execute(&l.f, &l.t) != lun.Done {
			tb.Fatal("not done at Dispatch")
		}
	}
	if l.t.Status != scsi.StatusGood {
		tb.Fatal(l.t.Status)
	}
	l.s.Release(&l.f, &l.t)
	l.f.Lower()
}

// Nothing is allocated for a command on a null or ram unit.
func TestNoAllocation(t *testing.T) {
	stores := map[string]func() lun.Store{
		"null": func() lun.Store { return must(lun.NewNull(testSize, testBlock)) },
		"ram":  func() lun.Store { return ram(testSize) },
	}
	for name, store := range stores {
		l := newLoop(t, store())
		buffer := make([]byte, 4096)
		data := [][]byte{buffer[:1024], buffer[1024:]}
		for cmd, c := range map[string][]byte{
			"read":       cdb(&scsi.RW{LBA: 8, Blocks: 8}),
			"write":      cdb(&scsi.RW{Write: true, LBA: 8, Blocks: 8, FUA: true}),
			"flush":      cdb(&scsi.SyncCache{}),
			"ready":      make([]byte, 6),
			"inquiry":    cdb(&scsi.Inquiry{EVPD: true, Page: 0x83, AllocationLength: 255}),
			"mode sense": cdb(&scsi.ModeSense{Page: 0x3f, AllocationLength: 255}),
			"luns":       cdb(&scsi.ReportLUNs{AllocationLength: 4096}),
			"sense":      cdb(&scsi.RequestSense{AllocationLength: 252}),
			"read 32":    cdb32(&scsi.RW{LBA: 8, Blocks: 8}),
			"write 32":   cdb32(&scsi.RW{Write: true, LBA: 8, Blocks: 8}),
			"log sense":  cdb(&scsi.LogSense{Control: 1, Page: 2, AllocationLength: 255}),
			"groups":     cdb(&scsi.ReportGroups{AllocationLength: 255}),
			"functions":  cdb(&scsi.ReportFunctions{AllocationLength: 255}),
			"opcodes":    cdb(&scsi.ReportSupported{AllocationLength: 4096}),
		} {
			l.t.CDB = scsi.CDB{}
			copy(l.t.CDB[:], c)
			l.t.InLength, l.t.OutLength = 4096, 4096
			for _, d := range [][][]byte{nil, data} {
				if d == nil && !scsi.IsRW(c) {
					continue
				}
				var pieces [2][]byte
				if n := testing.AllocsPerRun(200, func() {
					copy(pieces[:], d)
					l.step(t, pieces[:len(d)])
				}); n != 0 {
					t.Errorf("%s on %s, %d pieces: %v allocations", cmd, name, len(d), n)
				}
			}
		}
		// A refusal is as cheap.
		l.t.CDB = scsi.CDB{byte(scsi.OpRead10), 2: 0xff}
		refuse := func() {
			p := l.s.Processor()
			p.Raise(&l.f)
			if l.s.Prepare(&l.f, &l.t) != lun.Finished {
				t.Fatal("not refused")
			}
			l.s.Release(&l.f, &l.t)
			l.f.Lower()
		}
		if n := testing.AllocsPerRun(200, refuse); n != 0 {
			t.Errorf("refusal on %s: %v allocations", name, n)
		}
	}
}

func BenchmarkRead4K(b *testing.B) {
	l := newLoop(b, ram(testSize))
	copy(l.t.CDB[:], cdb(&scsi.RW{LBA: 8, Blocks: 8}))
	l.t.InLength = 4096
	b.ReportAllocs()
	for b.Loop() {
		l.step(b, nil)
	}
}
