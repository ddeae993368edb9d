package miniport

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"minisrp/scsi"
)

// Scan asks a target for its units. A unit that is new is added; one that is known by
// its identity gains a path; a path to a number that is not reported any more, or that
// answers as another unit, is taken from its unit. It returns the units behind the target,
// and the errors of those that could not be asked, joined; the scan goes on after such an
// error, and leaves the paths of those alone. A scan that cannot read the list of units
// changes nothing. While the target is not logged in it waits.
//
// Errors: ErrClosed, ctx's, *SRBError.
func (p *Port) Scan(ctx context.Context, a *Adapter, t *Target) ([]*Unit, error) {
	ctx, exit, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer exit()
	if err := p.scans.acquire(ctx); err != nil {
		return nil, p.orClosed(err)
	}
	defer p.scans.release()
	units, err := p.scan(ctx, a, t)
	return units, p.orClosed(err)
}

func (p *Port) scan(ctx context.Context, a *Adapter, t *Target) (found []*Unit, err error) {
	luns, err := p.reportLUNs(ctx, a, t)
	if err != nil && luns == nil {
		return nil, fmt.Errorf("target %s: %w", t.Name(), err)
	}
	var errs []error
	present := make(map[scsi.LUN]bool, len(luns))
	for _, lun := range luns {
		if lun == scsi.LUNReportLUNs || present[lun] {
			continue
		}
		u, err := p.identify(ctx, pathKey{t, lun}, a)
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("target %s LUN %s: %w", t.Name(), lun, err))
		}
		present[lun] = u != nil || err != nil
		if u != nil && !slices.Contains(found, u) {
			found = append(found, u)
		}
	}
	if err != nil { // the list is not whole
		errs = append(errs, fmt.Errorf("target %s: %w", t.Name(), err))
	} else {
		p.dropPaths(ctx, t, func(lun scsi.LUN) bool { return !present[lun] })
	}
	if len(found) == 0 && len(errs) == 0 {
		a.Log().Warn("target shows no units: look there which are ready, and which this initiator may see",
			"target", t.Name(), "initiator", t.config.Initiator)
	}
	return found, errors.Join(errs...)
}

// prober sends the commands of a scan by one path. They go through a unit that nobody
// else knows, as it is to be found out which one it is.
type prober struct {
	port *Port
	unit *Unit
	path *Path
}

// prober makes one. The caller ends it by done.
func (p *Port) prober(a *Adapter, key pathKey) *prober {
	path := &Path{adapter: a, target: key.target, lun: key.lun}
	u := newUnit(p, "", scsi.StandardInquiry{}, path)
	path.unit = u
	key.target.addUnit(u)
	u.refresh()
	return &prober{p, u, path}
}

func (b *prober) done() { b.path.target.removeUnit(b.unit) }

// probeTries is how often a command of a scan is sent while the unit reports unit
// attentions: each event that it owes one for takes a command.
const probeTries = 8

// ask sends a command and returns its answer of up to n bytes, which lies in r and is
// valid until the next command.
func (b *prober) ask(ctx context.Context, r *Region, n uint32, put func(*scsi.CDB) int) ([]byte, error) {
	s := &SRB{Direction: DataIn, Length: n, Data: []Segment{{Region: r, Length: n}}}
	for try := 1; ; try++ {
		s.CDBLength = uint8(put(&s.CDB))
		err := b.unit.Exec(ctx, s)
		if err == nil {
			return r.Bytes()[:s.Transferred], nil
		}
		if !errors.Is(err, scsi.ErrUnitAttention) || try == probeTries {
			return nil, err
		}
	}
}

// identify asks a unit who it is. It returns nil for an address without a unit.
func (p *Port) identify(ctx context.Context, key pathKey, a *Adapter) (*Unit, error) {
	b := p.prober(a, key)
	defer b.done()
	data, err := b.ask(ctx, p.probe, inquirySize, func(c *scsi.CDB) int {
		return (&scsi.Inquiry{AllocationLength: inquirySize}).Put(c)
	})
	if err != nil {
		return nil, err
	}
	q, err := scsi.ParseStandardInquiry(data)
	if err != nil {
		return nil, err
	}
	if q.Qualifier != scsi.QualifierConnected {
		return nil, nil
	}
	id, err := b.identity(ctx, &q)
	if err != nil {
		return nil, err
	}
	return p.addPath(ctx, id, q, key, a)
}

// inquirySize is what is read of standard INQUIRY data, vpdSize of a VPD page, in bytes.
const (
	inquirySize = 96
	vpdSize     = 4096
)

// identity returns the unit's identity: by VPD page 83h, else by its serial number,
// else by its place, which is all that is left.
func (b *prober) identity(ctx context.Context, q *scsi.StandardInquiry) (scsi.UnitID, error) {
	v, err := b.vpd(ctx, scsi.VPDIdentification)
	if err == nil {
		if id, ok := scsi.UnitIdentity(v.Body); ok {
			return id, nil
		}
	} else if !errors.Is(err, scsi.ErrIllegalRequest) {
		return "", err
	}
	if v, err = b.vpd(ctx, scsi.VPDSerialNumber); err == nil {
		if id, ok := scsi.SerialIdentity(q, v.SerialText()); ok {
			return id, nil
		}
	} else if !errors.Is(err, scsi.ErrIllegalRequest) {
		return "", err
	}
	return scsi.UnitID(fmt.Sprintf("path.%s.%s", b.path.target.Name(), b.path.lun)), nil
}

func (b *prober) vpd(ctx context.Context, page uint8) (scsi.VPD, error) {
	data, err := b.ask(ctx, b.port.probe, vpdSize, func(c *scsi.CDB) int {
		return (&scsi.Inquiry{EVPD: true, Page: page, AllocationLength: vpdSize}).Put(c)
	})
	if err != nil {
		return scsi.VPD{}, err
	}
	return scsi.ParseVPD(data, page)
}
