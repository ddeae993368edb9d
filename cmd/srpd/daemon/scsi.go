package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/passthrough"
	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs/arena"
)

// place is a number at a target.
type place struct {
	target *miniport.Target
	lun    scsi.LUN
}

// places returns where requests for a unit, or for a target and a number, go: those paths whose target is up.
func (d *Daemon) places(name, target, lun string) ([]place, error) {
	if name == "" {
		n, err := scsi.ParseLUN(lun)
		if err != nil {
			return nil, usage("lun: %w", err)
		}
		t, err := d.upTarget(target)
		return []place{{t, n}}, err
	}
	list := d.list()
	i := slices.IndexFunc(list, func(u *unit) bool { return u.name == name || string(u.unit.ID()) == name })
	if i < 0 {
		return nil, exitcode.With(exitcode.NotFound, fmt.Errorf("there is no unit %.200q", name), "see: srpctl units")
	}
	var all []place
	for _, p := range list[i].unit.Paths() {
		if p.Target().State() == miniport.TargetUp {
			all = append(all, place{p.Target(), p.LUN()})
		}
	}
	if len(all) == 0 {
		return nil, exitcode.With(exitcode.Unreachable, fmt.Errorf("no path to unit %s is up", name), "see: srpctl paths")
	}
	return all, nil
}

// upTarget returns a target that is logged in to.
func (d *Daemon) upTarget(text string) (*miniport.Target, error) {
	key, name, err := d.named(text)
	if err != nil {
		return nil, err
	}
	l := d.login(key)
	if l == nil {
		return nil, noTarget(name)
	}
	if l.target.State() != miniport.TargetUp {
		return nil, exitcode.With(exitcode.Unreachable, fmt.Errorf("target %s is not logged in to: %s", l.target.Name(), stateOf(l.target)),
			"srpctl reconnect "+l.target.Name())
	}
	return l.target, nil
}

// attentions is how often a command is sent while the unit reports unit attentions instead of doing it.
const attentions = 8

// SCSI implements control.Admin.
func (a *admin) SCSI(ctx context.Context, q *control.SCSI, _ control.Progress) (*control.SCSIAnswer, error) {
	if err := passthrough.Check(q.CDB, q.In, len(q.Out)); err != nil {
		return nil, exitcode.With(exitcode.Denied, err, "")
	}
	all, err := a.d.places(q.Unit, q.Target, q.LUN)
	if err != nil {
		return nil, err
	}
	memory, err := arena.New(max(1, q.In, len(q.Out)))
	if err != nil {
		return nil, err
	}
	region, err := a.d.port.RegisterRegion(ctx, memory)
	if err != nil {
		return nil, errors.Join(err, memory.Close())
	}
	answer, err := a.exec(ctx, q, all[0], region)
	a.d.port.DeregisterRegion(ctx, region)
	return answer, errors.Join(err, memory.Close())
}

// exec sends the command, and makes an answer of the unit's.
func (a *admin) exec(ctx context.Context, q *control.SCSI, at place, region *miniport.Region) (*control.SCSIAnswer, error) {
	n := uint32(max(q.In, len(q.Out)))
	s := &miniport.SRB{CDBLength: uint8(len(q.CDB)), Length: n, Timeout: time.Duration(q.Timeout) * time.Millisecond}
	copy(s.CDB[:], q.CDB)
	copy(region.Bytes(), q.Out)
	switch {
	case q.In > 0:
		s.Direction = miniport.DataIn
	case n > 0:
		s.Direction = miniport.DataOut
	}
	if n > 0 {
		s.Data = []miniport.Segment{{Region: region, Length: n}}
	}
	for try := 1; ; try++ {
		err := a.d.port.ExecAt(ctx, a.d.adapter, at.target, at.lun, s)
		a.d.overhear(at, s.Sense())
		// Who asks whether the unit is ready wants to hear of them.
		if errors.Is(err, scsi.ErrUnitAttention) && q.CDB[0] != byte(scsi.OpTestUnitReady) && try < attentions {
			continue
		}
		if s.Status != miniport.StatusSuccess && s.Status != miniport.StatusError && s.Status != miniport.StatusBusy {
			return nil, explain(fmt.Errorf("target %s LUN %s: %w", at.target.Name(), at.lun, err))
		}
		break
	}
	x := &control.SCSIAnswer{
		Version: control.Version, Target: at.target.Name(), LUN: at.lun.String(), Command: scsi.CommandName(q.CDB),
		Status: uint8(s.SCSIStatus), StatusText: s.SCSIStatus.String(), Data: control.Hex{}, Residual: int(n - min(n, s.Transferred)),
	}
	if q.In > 0 {
		x.Data = append(x.Data, region.Bytes()[:min(n, s.Transferred)]...)
	}
	if raw := s.Sense(); len(raw) > 0 {
		x.Sense = &control.Sense{Raw: slices.Clone(raw), Text: "sense data that cannot be read"}
		if v, err := scsi.ParseSense(raw); err == nil {
			x.Sense.Deferred, x.Sense.Key, x.Sense.KeyText = v.Deferred, uint8(v.Key), v.Key.String()
			x.Sense.ASC, x.Sense.ASCQ, x.Sense.Text = v.ASC.Code(), v.ASC.Qualifier(), v.String()
		}
	}
	return x, nil
}

// overhear gives the disk of a unit what that has said to a command of the user's: it says it once. That a target has
// other units the port has seen by itself.
func (d *Daemon) overhear(at place, raw []byte) {
	s, err := scsi.ParseSense(raw)
	if err != nil {
		return
	}
	here := func(p *miniport.Path) bool { return p.Target() == at.target && p.LUN() == at.lun }
	for _, u := range d.list() {
		if u.disk != nil && slices.ContainsFunc(u.unit.Paths(), here) {
			u.disk.Overheard(&s)
		}
	}
}

// taskTime bounds a task management function at one target.
const taskTime = 15 * time.Second

// functions are those that SRP has.
var functions = map[control.TaskFunction]srp.TaskFunction{
	control.AbortTaskSet: srp.AbortTaskSet, control.ClearTaskSet: srp.ClearTaskSet, control.UnitReset: srp.LogicalUnitReset,
}

// Task implements control.Admin.
func (a *admin) Task(ctx context.Context, q *control.Task, p control.Progress) (*control.TaskAnswer, error) {
	d := a.d
	var all []place
	var err error
	if q.Unit == "" && q.LUN == "" {
		var t *miniport.Target
		t, err = d.upTarget(q.Target)
		all = []place{{target: t}}
	} else {
		all, err = d.places(q.Unit, q.Target, q.LUN)
	}
	if err != nil {
		return nil, err
	}
	answer := &control.TaskAnswer{Version: control.Version}
	for _, at := range all {
		p.Report("reset", at.target.Name(), "%s", q.Function)
		x := control.TaskPath{Target: at.target.Name(), LUN: at.lun.String()}
		d.log.Warn("task management function asked for", keyTarget, x.Target, keyLUN, x.LUN, keyFunction, string(q.Function))
		a.task(ctx, q.Function, at, &x)
		if q.LUN != "" && !x.Done && d.noUnit(ctx, at) {
			return nil, exitcode.With(exitcode.NotFound, fmt.Errorf("target %s has no LUN %s", x.Target, x.LUN), "srpctl luns "+x.Target+" lists those that it has")
		}
		answer.Paths = append(answer.Paths, x)
	}
	return answer, ctx.Err()
}

// noUnit reports whether a target says that it has no unit there.
func (d *Daemon) noUnit(ctx context.Context, at place) bool {
	s := &miniport.SRB{CDBLength: 6, Timeout: taskTime} // TEST UNIT READY
	_ = d.port.ExecAt(ctx, d.adapter, at.target, at.lun, s)
	d.overhear(at, s.Sense())
	v, err := scsi.ParseSense(s.Sense())
	return err == nil && v.ASC == scsi.ASCUnitNotSupported
}

// task does a function at a place, and says in x what became of it.
func (a *admin) task(ctx context.Context, fn control.TaskFunction, at place, x *control.TaskPath) {
	ctx, cancel := context.WithTimeout(ctx, taskTime)
	defer cancel()
	if fn == control.NexusReset {
		x.LUN, x.Done, x.Response = "", true, "the session was ended"
		if err := at.target.Reset(ctx); err != nil {
			x.Done, x.Response = false, err.Error()
		}
		return
	}
	r, err := a.d.srp.Manage(ctx, at.target, at.lun, functions[fn])
	x.Aborted, x.Done = r.Aborted, err == nil && r.Done()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		x.Response = fmt.Sprintf("no answer within %v", taskTime)
	case err != nil:
		x.Response = err.Error()
	case !r.Answered:
		x.Response = "the session has ended before the answer"
	default:
		x.Response = r.Code.String()
	}
}
