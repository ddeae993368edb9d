package disk

import (
	"context"

	"minisrp/miniport"
	"minisrp/scsi"
)

// opControl is what an Error of the identification names as its operation.
const opControl Op = 255

// putFunc writes a CDB and returns its length.
type putFunc func(*scsi.CDB) int

// exec sends a command that returns up to n bytes, 0 to controlMemory, with the retries that every command has, and
// waits for it. The data are valid until the next call. There is one caller at a time: Open, then the worker.
func (d *Disk) exec(ctx context.Context, put putFunc, n uint32) ([]byte, error) {
	s := &d.lanes[0].control
	if d.asking { // an earlier call whose ctx has ended
		select {
		case <-s.answer:
			d.asking = false
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	b := &s.srb
	b.CDBLength = uint8(put(&b.CDB))
	b.Direction, b.Data, b.Length = miniport.NoData, nil, n
	if n > 0 {
		s.segments[0] = d.control
		s.segments[0].Length = n
		b.Direction, b.Data = miniport.DataIn, s.segments[:1]
	}
	s.failed = false
	s.asked.Store(true)
	d.asking = true
	s.lane.dpc.Post()
	select {
	case <-s.answer:
		d.asking = false
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.failed {
		err := s.failure
		return nil, &err
	}
	return d.control.Bytes()[:min(b.Transferred, n)], nil
}
