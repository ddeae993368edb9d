package bench

import (
	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Load keeps a number of SRBs at a unit, each started anew from its completion, at
// random places.
//
// Ownership: the exported fields are the caller's until Prepare. What follows them
// belongs to the frame that owns the processor.
type Load struct {
	Unit      *miniport.Unit
	Processor *dispatch.Processor
	Region    *miniport.Region
	Write     bool
	Size      uint32 // bytes a request
	Blocks    uint64 // of the unit, 512 bytes each

	srbs     []miniport.SRB
	places   sequence
	frame    dispatch.Frame
	kick     dispatch.DPC
	left     int
	out      int
	failed   int
	finished chan struct{} // capacity 1
}

// Prepare makes depth SRBs, each with memory of its own in the region.
func (l *Load) Prepare(depth int) {
	l.srbs = make([]miniport.SRB, depth)
	l.places = sequence(depth)
	l.finished = make(chan struct{}, 1)
	l.kick.Init(l.Processor, l.fill)
	for i := range l.srbs {
		s := &l.srbs[i]
		s.Direction = miniport.DataIn
		if l.Write {
			s.Direction = miniport.DataOut
		}
		s.Length = l.Size
		s.Data = []miniport.Segment{{Region: l.Region, Offset: uint64(i) * uint64(l.Size), Length: l.Size}}
		s.Done = l.done
	}
}

// Run moves n requests, 1 or more, and returns how many did not succeed when the last
// has completed. They run on this goroutine until the drain's budget ends, then on the
// processor's.
func (l *Load) Run(n int) (failed int) {
	l.left, l.failed = n, 0
	l.Processor.Raise(&l.frame)
	l.kick.Queue(&l.frame)
	l.frame.Lower()
	<-l.finished
	return l.failed
}

func (l *Load) fill(f *dispatch.Frame) {
	for i := range min(l.left, len(l.srbs)) {
		l.start(f, &l.srbs[i])
	}
}

func (l *Load) start(f *dispatch.Frame, s *miniport.SRB) {
	l.left--
	l.out++
	blocks := uint64(l.Size / 512)
	rw := scsi.RW{Write: l.Write, LBA: l.places.next(l.Blocks/blocks) * blocks, Blocks: uint32(blocks)}
	s.CDBLength = uint8(rw.Put(&s.CDB))
	l.Unit.Submit(f, s)
}

func (l *Load) done(f *dispatch.Frame, s *miniport.SRB) {
	l.out--
	if s.Status != miniport.StatusSuccess {
		l.failed++
	}
	if l.left > 0 {
		l.start(f, s)
	} else if l.out == 0 {
		select {
		case l.finished <- struct{}{}:
		default:
		}
	}
}
