package miniport

import (
	"context"
	"errors"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// ErrNotUp: the target is not logged in. Try again when it is.
var ErrNotUp = errors.New("target is not logged in")

// TaskResult is what became of a task management function.
type TaskResult struct {
	Answered bool             // by every channel
	Code     srp.ResponseCode // the worst answer
	Aborted  int              // SRBs that it has ended, with StatusBusReset
}

// Done reports whether the target has done the function.
func (r *TaskResult) Done() bool { return r.Answered && r.Code == srp.ResponseComplete }

// Manage has a target do a task management function, ABORT TASK SET, CLEAR TASK SET or LOGICAL UNIT RESET, at a logical
// unit. It goes out on every channel, as it counts only for what went before it on the same one; nothing is started at the
// unit meanwhile, and the target answers none of the commands that the function ends. Errors: ErrNotUp, ErrClosed, ctx's,
// and then the function may still come.
func (m *SRP) Manage(ctx context.Context, t *Target, lun scsi.LUN, fn srp.TaskFunction) (TaskResult, error) {
	p := m.adapter.port
	ctx, exit, err := p.enter(ctx)
	if err != nil {
		return TaskResult{}, err
	}
	defer exit()
	u := p.unitAt(pathKey{t, lun})
	if u != nil {
		u.Pause()
		defer u.Resume()
	}
	r, err := t.manage(ctx, lun, fn)
	if err == nil && r.Done() && u != nil {
		err = u.releaseAll(ctx, pathKey{t, lun}, &r.Aborted)
	}
	return r, p.orClosed(err)
}

// manage sends a function on every channel, and waits for the answers.
func (t *Target) manage(ctx context.Context, lun scsi.LUN, fn srp.TaskFunction) (r TaskResult, err error) {
	p := t.mp.adapter.port
	asked := 0
	answers := make(chan *srp.TaskRequest, len(t.channels))
	for i := range t.channels {
		c := t.channels[i].Load()
		if c == nil {
			continue
		}
		q := &srp.TaskRequest{Function: fn, LUN: lun, Done: func(_ *dispatch.Frame, q *srp.TaskRequest) {
			select {
			case answers <- q:
			default: // cannot be: there is room for all
			}
		}}
		sent := new(error) // not looked at when the call may still run
		if err := p.call(ctx, p.execs[i], func(f *dispatch.Frame) { *sent = c.Manage(f, q) }); err != nil {
			return r, err
		}
		if *sent == nil {
			asked++
		}
	}
	if asked == 0 {
		return r, ErrNotUp
	}
	r.Answered = true
	for range asked {
		select {
		case q := <-answers:
			r.Answered = r.Answered && q.Outcome == srp.Completed
			if q.Outcome == srp.Completed && q.Code != srp.ResponseComplete {
				r.Code = q.Code
			}
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
	return r, nil
}

// unitAt returns the unit at a path, or nil.
func (p *Port) unitAt(key pathKey) *Unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if path := p.byPath[key]; path != nil {
		return path.unit
	}
	return nil
}

// releaseAll releases what was started by a path, and counts it. What a reset of the unit waits for is that one's.
func (u *Unit) releaseAll(ctx context.Context, key pathKey, n *int) error {
	for _, l := range u.lanes {
		released := new(int) // not looked at when the call may still run
		err := u.port.call(ctx, l.ex, func(f *dispatch.Frame) {
			for s := l.out; s != nil; {
				next := s.nextOut
				if s.path.target == key.target && s.path.lun == key.lun && !s.released && s.stage != stageReset {
					l.release(f, s)
					*released++
				}
				s = next
			}
		})
		if err != nil {
			return err
		}
		*n += *released
	}
	return nil
}

// ExecAt sends an SRB to whatever is at a number of a target, as Unit.Exec does, by this path and no other. It counts for
// no unit. Errors: those of Unit.Exec; ErrClosed.
func (p *Port) ExecAt(ctx context.Context, a *Adapter, t *Target, lun scsi.LUN, s *SRB) error {
	ctx, exit, err := p.enter(ctx)
	if err != nil {
		return err
	}
	defer exit()
	b := p.prober(a, pathKey{t, lun})
	defer b.done()
	return p.orClosed(b.unit.Exec(ctx, s))
}
