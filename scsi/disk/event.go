package disk

import (
	"context"
	"errors"

	"minisrp/scsi"
)

// EventKind is what has happened to a disk.
type EventKind uint8

const (
	// CapacityChanged: Info.Size is another. What lies beyond a smaller size is gone.
	CapacityChanged EventKind = iota
	// InfoChanged: anything else of Info is another: write protection, the write cache.
	InfoChanged
	// UnitChanged: another unit, or none, answers in the disk's place. Every request ends with ErrChanged.
	UnitChanged
	// LUNsChanged: the target has other units than before. Scan it.
	LUNsChanged
	// SpaceLow: a thin unit is running out of space. Make room.
	SpaceLow
	// WritesLost: the unit has lost acknowledged writes. See ErrLostWrites.
	WritesLost
)

func (k EventKind) String() string {
	switch k {
	case CapacityChanged:
		return "capacity changed"
	case InfoChanged:
		return "properties changed"
	case UnitChanged:
		return "another unit"
	case LUNsChanged:
		return "units of the target changed"
	case SpaceLow:
		return "running out of space"
	case WritesLost:
		return "acknowledged writes are lost"
	}
	return "unknown event"
}

// Event is told to Options.Event.
type Event struct {
	Kind     EventKind
	Old, New Info  // CapacityChanged, InfoChanged: before and after; else both are the present one
	Err      error // UnitChanged: what was found, or nil
}

// note leaves notes for the worker. s is the slot whose command brought them.
func (d *Disk) note(n notes, s *slot) {
	if s.kind == kindControl && scsi.Opcode(s.srb.CDB[0]) == scsi.OpTestUnitReady {
		// What the unit has to say when an identification begins is seen by it.
		n &^= noteLook
	}
	d.attend(n)
}

// Overheard passes on the sense data of a command that was not the disk's: what the unit has to say beside the end of
// a command, it says once, to whichever comes first. It does not wait. Level: both.
func (d *Disk) Overheard(s *scsi.Sense) { d.attend(judgeSense(s).notes) }

// attend leaves notes for the worker.
func (d *Disk) attend(n notes) {
	if n&noteLost != 0 {
		if !d.opened.Load() {
			// Whoever wrote has not written through this disk.
			n &^= noteLost
		} else if d.lost.Swap(true) {
			n &^= noteLost // it is known already
		}
	}
	if n == 0 || !d.opened.Load() || d.closing.Load() {
		return
	}
	d.pending.Or(uint32(n))
	d.worker.Queue(&d.look)
}

// Refresh has the unit asked what it is now, as when it says itself that that has changed: Options.Event is told. It does
// not wait. Level: both.
func (d *Disk) Refresh() {
	if d.opened.Load() && !d.closing.Load() {
		d.pending.Or(uint32(noteLook))
		d.worker.Queue(&d.look)
	}
}

// looker is the disk as the worker runs it.
type looker Disk

// RunWork attends to what the unit has told.
func (k *looker) RunWork(ctx context.Context) {
	d := (*Disk)(k)
	if ctx.Err() != nil {
		return
	}
	n := notes(d.pending.Swap(0))
	for _, e := range [...]struct {
		is   notes
		kind EventKind
	}{{noteLost, WritesLost}, {noteThreshold, SpaceLow}, {noteLUNs, LUNsChanged}} {
		if n&e.is != 0 {
			now := d.Info()
			d.tell(ctx, Event{Kind: e.kind, Old: now, New: now})
		}
	}
	if n&noteLook != 0 && !d.changed.Load() {
		d.lookAgain(ctx)
	}
}

// lookAgain identifies the unit anew and compares.
func (d *Disk) lookAgain(ctx context.Context) {
	old := d.view.Load()
	v, err := d.identify(ctx)
	switch {
	case errors.Is(err, ErrNoCapacity):
		v = newView(old.info, old.caps)
		v.info.Size, v.count = 0, 0
	case errors.Is(err, ErrNoUnit), errors.Is(err, ErrNotDisk), errors.Is(err, ErrBlockSize):
		d.replaced(ctx, err)
		return
	case err != nil:
		// Not a reason to stop: the unit is asked again when it next says that something has changed.
		d.pending.And(^uint32(noteLook))
		if !d.closing.Load() {
			d.log.Warn("disk: cannot look again", "unit", old.info.Identity, "err", err)
		}
		return
	case v.info.Identity != old.info.Identity || v.info.LogicalBlock != old.info.LogicalBlock:
		d.replaced(ctx, nil)
		return
	}
	if v.info == old.info && v.caps == old.caps {
		return
	}
	d.view.Store(v)
	switch {
	case v.info.Size != old.info.Size:
		d.tell(ctx, Event{Kind: CapacityChanged, Old: old.info, New: v.info})
	case v.info != old.info:
		d.tell(ctx, Event{Kind: InfoChanged, Old: old.info, New: v.info})
	}
}

// replaced is for a unit that is not the disk's any more.
func (d *Disk) replaced(ctx context.Context, err error) {
	d.changed.Store(true)
	now := d.Info()
	d.tell(ctx, Event{Kind: UnitChanged, Old: now, New: now, Err: err})
}

func (d *Disk) tell(ctx context.Context, e Event) {
	args := []any{"unit", e.New.Identity}
	if e.Kind == CapacityChanged {
		args = append(args, "from", e.Old.Size, "to", e.New.Size)
	}
	if e.Err != nil {
		args = append(args, "err", e.Err)
	}
	d.log.Info("disk: "+e.Kind.String(), args...)
	if d.options.Event != nil {
		d.options.Event(ctx, e)
	}
}
