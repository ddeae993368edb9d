package miniport

import (
	"context"
	"slices"

	"minisrp/scsi"
)

// Path is an I_T_L nexus: a way to a unit.
type Path struct {
	// Fixed after construction.
	adapter *Adapter
	target  *Target
	lun     scsi.LUN
	unit    *Unit
}

// Target returns the target that the path leads through.
func (p *Path) Target() *Target { return p.target }

// LUN returns the unit's number at the target.
func (p *Path) LUN() scsi.LUN { return p.lun }

// pathKey tells paths apart.
type pathKey struct {
	target *Target
	lun    scsi.LUN
}

// addPath notes that a unit with an identity, which may be new, is at a path.
func (p *Port) addPath(ctx context.Context, id scsi.UnitID, q scsi.StandardInquiry, key pathKey, a *Adapter) (*Unit, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	old := p.byPath[key]
	if old != nil && old.unit.id == id {
		p.mu.Unlock()
		return old.unit, nil
	}
	if old != nil {
		p.unlink(key, old)
	}
	path := &Path{adapter: a, target: key.target, lun: key.lun}
	u, known := p.byID[id], true
	if u == nil {
		u, known = newUnit(p, id, q, path), false
		p.byID[id] = u
		p.units = append(p.units, u)
	} else {
		paths := append(slices.Clone(*u.paths.Load()), path)
		u.paths.Store(&paths)
	}
	path.unit = u
	p.byPath[key] = path
	p.mu.Unlock()

	if old != nil {
		p.pathGone(ctx, old)
	}
	p.control(ctx, path, UnitStart)
	u.refresh()
	p.tell(u, known)
	return u, nil
}

// dropPaths takes paths to a target from their units.
func (p *Port) dropPaths(ctx context.Context, t *Target, which func(lun scsi.LUN) bool) {
	var gone []*Path
	p.mu.Lock()
	for _, u := range *t.units.Load() {
		for _, path := range *u.paths.Load() {
			key := pathKey{t, path.lun}
			if path.target == t && p.byPath[key] == path && which(path.lun) {
				p.unlink(key, path)
				gone = append(gone, path)
			}
		}
	}
	p.mu.Unlock()
	for _, path := range gone {
		p.pathGone(ctx, path)
	}
}

// unlink takes a path from its unit. The caller holds mu.
func (p *Port) unlink(key pathKey, path *Path) {
	delete(p.byPath, key)
	paths := slices.DeleteFunc(slices.Clone(*path.unit.paths.Load()), func(o *Path) bool { return o == path })
	path.unit.paths.Store(&paths)
}

// pathGone tells of a path that was taken from its unit.
func (p *Port) pathGone(ctx context.Context, path *Path) {
	p.control(ctx, path, UnitRemove)
	path.unit.refresh()
	p.tell(path.unit, true)
}

func (p *Port) control(ctx context.Context, path *Path, c UnitControl) {
	if err := path.adapter.mp.UnitControl(ctx, path, c); err != nil {
		p.log.Warn("unit control", "unit", path.unit.id, "target", path.target.Name(), "lun", path.lun, "err", err)
	}
}

// tell calls UnitFound or UnitChanged.
func (p *Port) tell(u *Unit, known bool) {
	fn := p.config.UnitFound
	if known {
		fn = p.config.UnitChanged
	}
	if fn != nil && p.life.Err() == nil {
		fn(u)
	}
}
