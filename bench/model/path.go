package model

import (
	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// path keeps SRBs at a unit, each started anew from its completion.
//
// Ownership: what follows the SRBs belongs to the frame that owns the processor.
type path struct {
	processor *dispatch.Processor
	unit      *miniport.Unit
	blocks    uint64 // a request
	count     uint64 // places there are

	srbs     []miniport.SRB
	places   sequence
	frame    dispatch.Frame
	kick     dispatch.DPC
	left     int // still to be submitted
	out      int // at the unit
	failed   int
	finished chan struct{} // capacity 1
}

func newPath(l *lane, c Case) *path {
	p := &path{
		processor: l.rig.Processor, unit: l.rig.Port.Units()[0],
		blocks: uint64(c.Size) / blockSize, count: uint64(len(l.unit)) / uint64(c.Size),
		srbs: make([]miniport.SRB, c.Depth), places: sequence(c.Depth), finished: make(chan struct{}, 1),
	}
	p.kick.Init(p.processor, p.fill)
	for i := range p.srbs {
		s := &p.srbs[i]
		s.Direction = miniport.DataIn
		if c.Write {
			s.Direction = miniport.DataOut
		}
		s.Length = c.Size
		s.Data = []miniport.Segment{{Region: l.region, Offset: uint64(i) * uint64(c.Size), Length: c.Size}}
		s.Done = p.done
	}
	return p
}

// run begins on this goroutine, and goes on on the processor's when the drain's budget ends.
func (p *path) run(n int) int {
	p.left, p.failed = n, 0
	p.processor.Raise(&p.frame)
	p.kick.Queue(&p.frame)
	p.frame.Lower()
	<-p.finished
	return p.failed
}

func (p *path) fill(f *dispatch.Frame) {
	for i := range min(p.left, len(p.srbs)) {
		p.start(f, &p.srbs[i])
	}
}

func (p *path) start(f *dispatch.Frame, s *miniport.SRB) {
	p.left--
	p.out++
	rw := scsi.RW{Write: s.Direction == miniport.DataOut, LBA: p.places.next(p.count) * p.blocks, Blocks: uint32(p.blocks)}
	s.CDBLength = uint8(rw.Put(&s.CDB))
	p.unit.Submit(f, s)
}

func (p *path) done(f *dispatch.Frame, s *miniport.SRB) {
	p.out--
	if s.Status != miniport.StatusSuccess {
		p.failed++
	}
	if p.left > 0 {
		p.start(f, s)
	} else if p.out == 0 {
		select {
		case p.finished <- struct{}{}:
		default:
		}
	}
}
