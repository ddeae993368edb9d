package miniport

import (
	"context"
	"errors"
	"fmt"

	"minisrp/scsi"
	"minisrp/verbs/arena"
)

// listTries is how often the list of units is read anew when it has grown beyond what
// there was room for.
const listTries = 4

// reportLUNs returns the numbers of a target's units, and an error beside them when there
// are more.
func (p *Port) reportLUNs(ctx context.Context, a *Adapter, t *Target) ([]scsi.LUN, error) {
	b := p.prober(a, pathKey{t, 0})
	defer b.done()
	size := uint64(firstLUNList)
	for try := 1; ; try++ {
		size = min(size, maxLUNList)
		if info := t.Info(); info != nil {
			size = min(size, uint64(info.MaxTransfer)&^7)
		}
		luns, needed, err := b.readLUNs(ctx, uint32(size))
		switch {
		case errors.Is(err, scsi.ErrIllegalRequest):
			return []scsi.LUN{0}, nil // it has one unit
		case err != nil:
			return nil, err
		case needed <= size:
			return luns, nil
		case size == maxLUNList || try == listTries:
			return luns, fmt.Errorf("the list of units takes %d bytes, of which %d were read: %d units are left out",
				needed, size, (needed-size)/8)
		}
		size = needed
	}
}

// readLUNs reads up to size bytes of the list of units. needed is how long it is.
func (b *prober) readLUNs(ctx context.Context, size uint32) (luns []scsi.LUN, needed uint64, err error) {
	r := b.port.probe
	if uint64(size) > r.Size() {
		more, err := arena.New(int(size))
		if err != nil {
			return nil, 0, err
		}
		defer more.Close()
		if r, err = b.port.RegisterRegion(ctx, more); err != nil {
			return nil, 0, err
		}
		defer b.port.DeregisterRegion(ctx, r)
	}
	data, err := b.ask(ctx, r, size, func(c *scsi.CDB) int { return (&scsi.ReportLUNs{AllocationLength: size}).Put(c) })
	if err != nil {
		return nil, 0, err
	}
	list, err := scsi.ParseLUNList(data)
	if err != nil {
		return nil, 0, err
	}
	luns = make([]scsi.LUN, list.Len())
	for i := range luns {
		luns[i] = list.At(i)
	}
	return luns, list.Needed(), nil
}
