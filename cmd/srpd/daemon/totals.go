package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"minisrp/cmd/control"
	"minisrp/cmd/srpd/state"
	"minisrp/scsi"
	"minisrp/scsi/disk"
)

// totalsPause is the time between two writes of totals to the state database: a daemon that is killed has not counted
// what came after the last.
const totalsPause = time.Minute

// totals counts what units are asked for over restarts. Counters of a disk begin with the disk; what they have grown by
// since they were last seen is added to what the state database had.
type totals struct {
	mu      sync.Mutex
	all     map[scsi.UnitID]state.Totals
	changed map[scsi.UnitID]bool // since they were last written
	seen    map[*disk.Disk]state.Totals
}

// startTotals begins to count.
func (d *Daemon) startTotals(ctx context.Context) error {
	all, err := d.state.Totals(ctx)
	if err != nil {
		return err
	}
	d.totals.all, d.totals.changed = all, map[scsi.UnitID]bool{}
	ticking, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(totalsPause)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := d.keepTotals(ticking); err != nil && !errors.Is(err, context.Canceled) {
					d.log.LogAttrs(ticking, slog.LevelWarn, "totals could not be kept", slog.Any(keyError, err))
				}
			case <-ticking.Done():
				return
			}
		}
	}()
	d.onStop("totals", func(over context.Context) error {
		cancel()
		<-done
		err := d.keepTotals(over)
		if errors.Is(err, state.ErrSpace) { // which loses a minute's counts, and nothing else
			d.log.Warn("totals could not be kept", keyError, err)
			return nil
		}
		return err
	})
	return nil
}

// keepTotals writes what has changed.
func (d *Daemon) keepTotals(ctx context.Context) error {
	d.countTotals()
	t := &d.totals
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := map[scsi.UnitID]state.Totals{}
	for id := range t.changed {
		fresh[id] = t.all[id]
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := d.state.PutTotals(ctx, fresh); err != nil {
		return err
	}
	clear(t.changed)
	return nil
}

// countTotals adds what has come since it was last called.
func (d *Daemon) countTotals() {
	units := d.list()
	t := &d.totals
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := map[*disk.Disk]state.Totals{}
	for _, u := range units {
		if u.disk == nil {
			continue
		}
		now := diskTotals(u.disk.Counters())
		seen[u.disk] = now
		more := less(now, t.seen[u.disk])
		if more == (state.Totals{}) {
			continue
		}
		id := u.unit.ID()
		t.all[id] = plus(t.all[id], more)
		t.changed[id] = true
	}
	t.seen = seen
}

// lasting returns the totals of the units that are there.
func (d *Daemon) lasting() []control.UnitTotals {
	d.countTotals()
	t := &d.totals
	list := []control.UnitTotals{}
	for _, u := range d.list() {
		t.mu.Lock()
		x, ok := t.all[u.unit.ID()]
		t.mu.Unlock()
		if ok {
			list = append(list, control.UnitTotals{
				Name: u.name, Since: x.Since, Reads: x.Reads, Writes: x.Writes, Flushes: x.Flushes, Unmaps: x.Unmaps,
				Zeroes: x.Zeroes, BytesRead: x.BytesRead, BytesWritten: x.BytesWritten, Errors: x.Errors,
			})
		}
	}
	return list
}

func diskTotals(c disk.Counters) state.Totals {
	return state.Totals{
		Reads: c.Read.Ops, Writes: c.Write.Ops, Flushes: c.Flush.Ops, Unmaps: c.Unmap.Ops, Zeroes: c.WriteZeroes.Ops,
		BytesRead: c.Read.Bytes, BytesWritten: c.Write.Bytes,
		Errors: c.Read.Errors + c.Write.Errors + c.Flush.Errors + c.Unmap.Errors + c.WriteZeroes.Errors,
	}
}

func less(a, b state.Totals) state.Totals {
	return state.Totals{
		Reads: a.Reads - b.Reads, Writes: a.Writes - b.Writes, Flushes: a.Flushes - b.Flushes, Unmaps: a.Unmaps - b.Unmaps,
		Zeroes: a.Zeroes - b.Zeroes, BytesRead: a.BytesRead - b.BytesRead, BytesWritten: a.BytesWritten - b.BytesWritten,
		Errors: a.Errors - b.Errors,
	}
}

func plus(a, b state.Totals) state.Totals {
	if a.Since.IsZero() {
		a.Since = time.Now().UTC().Truncate(time.Second)
	}
	a.Reads += b.Reads
	a.Writes += b.Writes
	a.Flushes += b.Flushes
	a.Unmaps += b.Unmaps
	a.Zeroes += b.Zeroes
	a.BytesRead += b.BytesRead
	a.BytesWritten += b.BytesWritten
	a.Errors += b.Errors
	return a
}
