package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target/access"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// GroupConfig says who belongs to a group.
type GroupConfig struct {
	Name       string // for people; unique in the port
	Initiators []access.Match
}

// Group is initiators that see the same units at the same LUNs. A unit may be shown to several groups, and by each at a
// LUN of its own: it is one unit all the same, with one task set, and all its initiators hear what happens to it.
//
// Ownership: the port's, from AddGroup until Close.
type Group struct {
	// Fixed after construction.
	port   *Port
	cfg    GroupConfig
	server *lun.Server

	slots [lun.MaxUnits]unitSlot
}

// unitSlot is how a unit is known to a group. It is written before the unit is attached and after its last task, so that
// tasks see it whole.
type unitSlot struct {
	unit *lun.Unit
	mr   *verbs.MR // nil: the store is not memory

	tasks   atomic.Int32  // that may use it
	leaving atomic.Bool   // Detach waits; set before tasks is looked at for the last time
	drained chan struct{} // capacity 1: tasks has become 0 while leaving
}

// unitMemory is a unit's memory as it is registered with the device, for all groups that show the unit.
type unitMemory struct {
	mr    *verbs.MR
	users int
}

func newGroup(p *Port, c *GroupConfig) *Group {
	return &Group{port: p, cfg: *c, server: lun.NewServerAt(p.proc, p.cfg.At)}
}

// AddGroup makes a group without units. An initiator that several groups name belongs to the one that was added first;
// to which, is decided when it logs in. Errors: ErrConfig.
func (p *Port) AddGroup(ctx context.Context, c GroupConfig) (*Group, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := *p.groups.Load()
	if c.Name == "" || slices.ContainsFunc(all, func(g *Group) bool { return g.cfg.Name == c.Name }) {
		return nil, fmt.Errorf("%w: group %q: want a name that no other group has", ErrConfig, c.Name)
	}
	c.Initiators = slices.Clone(c.Initiators)
	g := newGroup(p, &c)
	last := len(all) - 1
	all = append(slices.Clone(all[:last]), g, all[last])
	p.groups.Store(&all)
	return g, nil
}

// Name returns the group's name; that of the port's own group is "".
func (g *Group) Name() string { return g.cfg.Name }

// own returns the port's own group.
func (p *Port) own() *Group {
	all := *p.groups.Load()
	return all[len(all)-1]
}

// groupOf returns the group of an initiator port, or nil if no group names it and the port is closed to others.
func (p *Port) groupOf(id srp.PortID, from verbs.Address) *Group {
	all := *p.groups.Load()
	for _, g := range all[:len(all)-1] {
		if access.Any(g.cfg.Initiators, id, from) {
			return g
		}
	}
	if p.cfg.Closed {
		return nil
	}
	return all[len(all)-1]
}

// Attach shows u at LUN n, 0 to lun.MaxUnits-1, to initiators that belong to no other group. See Group.Attach.
func (p *Port) Attach(ctx context.Context, n int, u *lun.Unit) error {
	return p.own().Attach(ctx, n, u)
}

// Detach takes the unit at LUN n away from them. See Group.Detach.
func (p *Port) Detach(ctx context.Context, n int) (*lun.Unit, error) { return p.own().Detach(ctx, n) }

// Attach shows u at LUN n, 0 to lun.MaxUnits-1. A unit on memory is registered with the device, so that its data is not
// copied. A unit may be shown by several groups and ports of its processor. Errors: lun.ErrLUN, lun.ErrConfig, the
// device's.
func (g *Group) Attach(ctx context.Context, n int, u *lun.Unit) error {
	g.port.mu.Lock()
	defer g.port.mu.Unlock()
	if n < 0 || n >= lun.MaxUnits || g.slots[n].unit != nil {
		return g.server.Attach(n, u) // which says what is wrong
	}
	mr, err := g.port.register(ctx, u)
	if err != nil {
		return fmt.Errorf("LUN %d: %w", n, err)
	}
	s := &g.slots[n]
	s.unit, s.mr, s.drained = u, mr, make(chan struct{}, 1)
	s.leaving.Store(false)
	if err := g.server.Attach(n, u); err != nil {
		return errors.Join(err, g.clear(n))
	}
	return nil
}

// register makes a unit's memory known to the device, if it has any.
func (p *Port) register(ctx context.Context, u *lun.Unit) (*verbs.MR, error) {
	a := u.Memory()
	if a == nil {
		return nil, nil
	}
	m := p.memory[u]
	if m == nil {
		attr := &verbs.MRAttr{Arena: a, Access: verbs.LocalWrite}
		// Waited for to the end: a region that came later would be of memory that may be gone.
		mr, err := wait(context.WithoutCancel(ctx), func(op *verbs.Op[*verbs.MR]) { p.pd.RegisterMR(op, attr) })
		if err != nil {
			return nil, err
		}
		m = &unitMemory{mr: mr}
		p.memory[u] = m
	}
	m.users++
	return m.mr, nil
}

// Detach takes the unit at LUN n away, waits for its tasks to end, and returns it: when no group shows it any more, it
// is the caller's to close. When ctx ends first the unit is gone for initiators but still in use; Detach may be called
// again. Errors: lun.ErrLUN, ctx's.
func (g *Group) Detach(ctx context.Context, n int) (*lun.Unit, error) {
	g.port.mu.Lock()
	defer g.port.mu.Unlock()
	if _, err := g.server.Detach(n); err != nil && (n < 0 || n >= lun.MaxUnits || g.slots[n].unit == nil) {
		return nil, err
	}
	s := &g.slots[n]
	// Who has looked the unit up before is counted once the processor has been there.
	if err := g.port.proc.Call(ctx, func(*dispatch.Frame) {}); err != nil {
		return nil, err
	}
	s.leaving.Store(true)
	for s.tasks.Load() != 0 {
		select {
		case <-s.drained:
		case <-ctx.Done():
			return nil, fmt.Errorf("LUN %d: %d tasks left: %w", n, s.tasks.Load(), ctx.Err())
		}
	}
	u := s.unit
	return u, g.clear(n)
}

// detachAll takes every unit away.
func (g *Group) detachAll(ctx context.Context) error {
	for n := range g.slots {
		if g.slots[n].unit == nil {
			continue
		}
		if _, err := g.Detach(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// clear forgets a unit, and its registration when no other slot needs that.
//
//level:passive
func (g *Group) clear(n int) error {
	s := &g.slots[n]
	u := s.unit
	s.unit, s.mr = nil, nil
	m := g.port.memory[u]
	if m == nil {
		return nil
	}
	if m.users--; m.users > 0 {
		return nil
	}
	delete(g.port.memory, u)
	return closeObject(m.mr)
}

// exit counts a task out.
func (s *unitSlot) exit() {
	if s.tasks.Add(-1) == 0 && s.leaving.Load() {
		select {
		case s.drained <- struct{}{}:
		default:
		}
	}
}
