package miniport

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"minisrp/scsi"
)

// Scan asks a target for its units. A unit that is new is added; one that is known by
// its identity gains a path. It returns the units behind the target, and the errors
// of those that could not be asked, joined; the scan goes on after such an error.
func (p *Port) Scan(ctx context.Context, a *Adapter, t *Target) ([]*Unit, error) {
	select {
	case p.scans <- struct{}{}:
		defer func() { <-p.scans }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	luns, err := p.reportLUNs(ctx, a, t)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", t.Name(), err)
	}
	var found []*Unit
	var errs []error
	for _, lun := range luns {
		if lun == scsi.LUNReportLUNs {
			continue
		}
		path := &Path{adapter: a, target: t, lun: lun}
		u, err := p.identify(ctx, path)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("target %s LUN %s: %w", t.Name(), lun, err))
		case u != nil:
			found = append(found, u)
		}
	}
	return found, errors.Join(errs...)
}

// probeTries is how often a command of a scan is sent while the unit reports unit
// attentions: each event that it owes one for takes a command.
const probeTries = 8

// probeUnit makes a unit that only a scan knows.
func (p *Port) probeUnit(path *Path) *Unit { return newUnit(p, "", scsi.StandardInquiry{}, path) }

// probe1 sends a command whose answer lies in the port's own memory, and returns the
// answer, valid until the next command.
func (p *Port) probe1(ctx context.Context, u *Unit, put func(*scsi.CDB) int, n uint32) ([]byte, error) {
	s := &SRB{Direction: DataIn, Length: n, Data: []Segment{{Region: p.probe, Length: n}}}
	for try := 1; ; try++ {
		s.CDBLength = uint8(put(&s.CDB))
		err := u.Exec(ctx, s)
		if err == nil {
			return p.probe.Bytes()[:s.Transferred], nil
		}
		if !errors.Is(err, scsi.ErrUnitAttention) || try == probeTries {
			return nil, err
		}
	}
}

func (p *Port) reportLUNs(ctx context.Context, a *Adapter, t *Target) ([]scsi.LUN, error) {
	const n = 8 + 8*4096
	u := p.probeUnit(&Path{adapter: a, target: t})
	b, err := p.probe1(ctx, u, func(c *scsi.CDB) int {
		return (&scsi.ReportLUNs{AllocationLength: n}).Put(c)
	}, n)
	if err != nil {
		return nil, err
	}
	list, err := scsi.ParseLUNList(b)
	if err != nil {
		return nil, err
	}
	luns := make([]scsi.LUN, list.Len())
	for i := range luns {
		luns[i] = list.At(i)
	}
	return luns, nil
}

// identify asks a unit who it is. It returns nil for an address without a unit.
func (p *Port) identify(ctx context.Context, path *Path) (*Unit, error) {
	u := p.probeUnit(path)
	b, err := p.probe1(ctx, u, func(c *scsi.CDB) int { return (&scsi.Inquiry{AllocationLength: 96}).Put(c) }, 96)
	if err != nil {
		return nil, err
	}
	q, err := scsi.ParseStandardInquiry(b)
	if err != nil {
		return nil, err
	}
	if q.Qualifier != scsi.QualifierConnected {
		return nil, nil
	}
	id, err := p.unitID(ctx, u, &q, path)
	if err != nil {
		return nil, err
	}
	return p.addPath(ctx, id, q, path), nil
}

// unitID returns the unit's identity: by VPD page 83h, else by its serial number,
// else by its place, which is all that is left.
func (p *Port) unitID(ctx context.Context, u *Unit, q *scsi.StandardInquiry, path *Path) (scsi.UnitID, error) {
	const n = 4096
	vpd := func(page uint8) (scsi.VPD, error) {
		b, err := p.probe1(ctx, u, func(c *scsi.CDB) int {
			return (&scsi.Inquiry{EVPD: true, Page: page, AllocationLength: n}).Put(c)
		}, n)
		if err != nil {
			return scsi.VPD{}, err
		}
		return scsi.ParseVPD(b, page)
	}
	v, err := vpd(scsi.VPDIdentification)
	if err == nil {
		if id, ok := scsi.UnitIdentity(v.Body); ok {
			return id, nil
		}
	} else if !errors.Is(err, scsi.ErrIllegalRequest) {
		return "", err
	}
	if v, err = vpd(scsi.VPDSerialNumber); err == nil {
		if id, ok := scsi.SerialIdentity(q, v.SerialText()); ok {
			return id, nil
		}
	} else if !errors.Is(err, scsi.ErrIllegalRequest) {
		return "", err
	}
	return scsi.UnitID(fmt.Sprintf("path.%s.%s", path.target.Name(), path.lun)), nil
}

// addPath adds a path to the unit with that identity, which may be new.
func (p *Port) addPath(ctx context.Context, id scsi.UnitID, q scsi.StandardInquiry, path *Path) *Unit {
	p.mu.Lock()
	var u *Unit
	for _, known := range p.units {
		if known.id == id {
			u = known
		}
	}
	tell := p.config.UnitFound
	if u == nil {
		u = newUnit(p, id, q, path)
		p.units = append(p.units, u)
	} else {
		tell = nil
		if !slices.ContainsFunc(*u.paths.Load(), path.same) {
			paths := append(slices.Clone(*u.paths.Load()), path)
			u.paths.Store(&paths)
			tell = p.config.UnitChanged
		}
	}
	path.unit = u
	p.mu.Unlock()
	if err := path.adapter.mp.UnitControl(ctx, path, UnitStart); err != nil {
		p.log.Warn("unit start", "unit", id, "err", err)
	}
	u.refresh()
	if tell != nil {
		tell(u)
	}
	return u
}

func (p *Path) same(q *Path) bool {
	return p.adapter == q.adapter && p.target == q.target && p.lun == q.lun
}
