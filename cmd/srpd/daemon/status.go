package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	"minisrp/cmd/control"
	"minisrp/miniport"
	"minisrp/pnp"
	"minisrp/scsi/disk"
	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// status tells the control socket about the daemon.
type status struct{ d *Daemon }

var _ control.Source = (*status)(nil)

// Daemon implements control.Source.
func (s *status) Daemon(context.Context) (*control.Daemon, error) {
	d := s.d
	a := &control.Daemon{
		Version: control.Version, Program: d.cfg.Program, PID: os.Getpid(), Started: d.started.UTC(), StateDir: d.cfg.StateDir,
		Listen: []string{}, Exports: d.Exports(),
	}
	for _, l := range d.listeners {
		a.Listen = append(a.Listen, l.Addr().String())
	}
	return a, nil
}

// Targets implements control.Source.
func (s *status) Targets(ctx context.Context) (*control.Targets, error) {
	a := &control.Targets{Version: control.Version, Targets: []control.Target{}}
	for _, l := range s.d.targets() {
		t := l.target
		c := t.Config()
		x := control.Target{
			Name: t.Name(), Adapter: s.d.adapter.Name(), Address: c.Address.String(),
			TargetID: c.Port.String(), Initiator: c.Initiator.String(), String: l.options.String(), Origin: l.origin,
			State: stateOf(t), Lost: t.Lost(), Logins: t.Logins(), Channels: []control.Channel{},
		}
		if err := t.Err(); err != nil {
			x.LastError = err.Error()
		}
		if i := t.Info(); i != nil {
			x.Session = session(i)
		}
		for _, c := range t.Channels(ctx) {
			x.Channels = append(x.Channels, channel(&c))
		}
		a.Targets = append(a.Targets, x)
	}
	return a, ctx.Err()
}

// stateFailed is the state of a target whose last login has failed, and of a unit that has no store.
const stateFailed = "failed"

// stateLoggedOut is the state of a target that somebody has logged out of.
const stateLoggedOut = "logged-out"

func stateOf(t *miniport.Target) string {
	switch {
	case t.LoggedOut():
		return stateLoggedOut
	case away(t):
		return stateFailed
	}
	return t.State().String()
}

func session(i *srp.Info) *control.Session {
	s := &control.Session{
		Channels: i.Channels, QueueSize: i.QueueSize, Credits: i.Credits, MaxITIU: i.MaxITIULen, MaxTIIU: i.MaxTIIULen,
		ImmediateData: i.ImmediateData, Formats: i.Formats.String(), MaxSegments: i.MaxSegments, MaxTransfer: i.MaxTransfer,
		Protect: i.Protect.String(),
	}
	if i.Fewer != nil {
		s.Fewer = i.Fewer.Error()
	}
	return s
}

func channel(i *miniport.ChannelInfo) control.Channel {
	c, at := &i.Stats, &i.Status
	state := "down"
	if at.Up {
		state = "up"
	}
	return control.Channel{
		Index: i.Index, Processor: i.Processor, State: state, QPN: at.QPN, Depth: at.Depth, Outstanding: at.Outstanding,
		Credits:  control.Credits{Limit: at.CreditLimit, InUse: at.CreditInUse, Least: at.LeastCredits},
		Commands: c.Starts, Responses: c.Responses, Busy: c.Busy, Tasks: c.Tasks, TaskResponses: c.TaskResponses,
		Abandoned: c.Aborted, Late: c.Late, UnknownTags: c.UnknownTags, UnknownIUs: c.UnknownIUs,
		CreditReqs: c.CreditReqs, AsyncEvents: c.AsyncEvents, BytesIn: c.BytesIn, BytesOut: c.BytesOut,
		Immediate: c.ImmediateOut, Copied: c.Copied, Polls: c.Polls, IdlePolls: c.IdlePolls,
	}
}

// Units implements control.Source.
func (s *status) Units(context.Context) (*control.Units, error) {
	return &control.Units{Version: control.Version, Units: s.d.Units()}, nil
}

// describe says what is known of a unit.
func describe(u *unit) control.Unit {
	q := u.unit.Inquiry()
	x := control.Unit{
		Identity: string(u.unit.ID()), Name: u.name, Vendor: q.VendorText(), Product: q.ProductText(), Revision: q.RevisionText(),
		Paths: []control.Path{}, Exports: append([]string{}, u.names...),
	}
	if u.err != nil {
		x.Error = u.err.Error()
	}
	for _, p := range u.unit.Paths() {
		c := p.Target().Config()
		x.Paths = append(x.Paths, control.Path{
			Target: c.Name, TargetID: c.Port.String(), Initiator: c.Initiator.String(), LUN: p.LUN().String(), State: stateOf(p.Target()),
		})
	}
	if u.disk != nil {
		i := u.disk.Info()
		x.Disk = &control.Disk{
			Serial: i.Serial, Size: i.Size, LogicalBlock: i.LogicalBlock, PhysicalBlock: i.PhysicalBlock, OptimalIO: i.OptimalIO,
			MaxTransfer: i.MaxTransfer, ReadOnly: i.ReadOnly, Rotational: i.Rotational, Thin: i.Thin, Unmap: i.Unmap, FUA: i.FUA,
			WriteCache: i.WriteCache.String(),
		}
	}
	return x
}

// Counters implements control.Source.
func (s *status) Counters(ctx context.Context) (*control.Counters, error) {
	d := s.d
	a := &control.Counters{
		Version: control.Version, NBD: d.nbd.Stats(), Disks: []control.DiskStats{}, Units: []control.UnitStats{},
		Processors: []control.Processor{}, HCAs: d.hcas(ctx), Totals: d.lasting(),
	}
	if c := d.capture; c != nil {
		a.Capture = &control.Capture{File: d.cfg.Capture, Messages: c.Messages(), Dropped: c.Dropped()}
	}
	for _, u := range d.list() {
		if u.disk != nil {
			c := u.disk.Counters()
			a.Disks = append(a.Disks, diskStats(u.name, &c))
		}
		a.Units = append(a.Units, unitStats(u.name, u.unit.Counters()))
	}
	for _, p := range d.processors {
		st, err := processorStats(ctx, p)
		if err != nil {
			return nil, err
		}
		a.Processors = append(a.Processors, control.Processor{
			Name: p.Name(), Items: st.Items, Drains: st.Drains, Handoffs: st.Handoffs, Timers: st.Timers,
		})
	}
	return a, nil
}

func diskStats(name string, c *disk.Counters) control.DiskStats {
	op := func(o disk.OpCounters) control.OpStats {
		return control.OpStats{Ops: o.Ops, Bytes: o.Bytes, Errors: o.Errors}
	}
	s := control.DiskStats{
		Name: name, Read: op(c.Read), Write: op(c.Write), Flush: op(c.Flush), Unmap: op(c.Unmap), WriteZeroes: op(c.WriteZeroes),
		Status: op(c.Status), Prefetch: op(c.Prefetch),
		Waits: c.Waits, Commands: c.Commands, Completed: c.Completed, NotGood: map[string]uint64{},
	}
	for what, n := range map[string]uint64{
		"failed": c.Failed, "refused": c.Refused, "attention": c.Attention, "not_ready": c.NotReady, "busy": c.Busy,
		"aborted": c.Aborted, "communication": c.Communication, "reset": c.Reset, "timeout": c.Timeout, "unclear": c.Unclear,
		"medium": c.Medium, "deferred": c.Deferred,
	} {
		if n > 0 {
			s.NotGood[what] = n
		}
	}
	return s
}

func unitStats(name string, c miniport.Counters) control.UnitStats {
	return control.UnitStats{
		Name: name, Completed: c.Completed, QueueFull: c.QueueFull, Aborts: c.Aborts, Resets: c.Resets,
		InFlight: c.InFlight, Depth: c.Depth,
	}
}

// processorStats asks a processor, on itself.
func processorStats(ctx context.Context, p *dispatch.Processor) (dispatch.Stats, error) {
	got := make(chan dispatch.Stats, 1)
	q := new(dispatch.DPC)
	q.Init(p, func(f *dispatch.Frame) {
		select {
		case got <- p.Stats(f):
		default: // cannot be: it has room for the one
		}
	})
	q.Post()
	select {
	case st := <-got:
		return st, nil
	case <-ctx.Done():
		return dispatch.Stats{}, ctx.Err()
	}
}

// Alive returns nil when every processor still does what it is asked, within ctx's time.
func (d *Daemon) Alive(ctx context.Context) error {
	for _, p := range d.processors {
		if _, err := processorStats(ctx, p); err != nil {
			return fmt.Errorf("processor %s: %w", p.Name(), err)
		}
	}
	return nil
}

// hcas lists the adapters: the software one, which counts nothing of its own, and those that the kernel knows.
func (d *Daemon) hcas(ctx context.Context) []control.HCA {
	all := []control.HCA{{Name: d.device.Name(), Kind: "software", Port: 1}}
	for _, e := range d.embedded {
		all = append(all, control.HCA{Name: e.Device().Name(), Kind: "software", Port: 1})
	}
	var inventory pnp.Inventory = &pnp.Kernel{Log: d.log}
	devices, err := inventory.Devices(ctx)
	if err != nil && !errors.Is(err, pnp.ErrNoSubsystem) {
		d.log.Debug("RDMA devices of the kernel", keyError, err)
	}
	for _, dev := range devices {
		for _, p := range dev.Ports {
			x := control.HCA{Name: dev.Name, Kind: "kernel", Port: p.Number, Counters: map[string]uint64{}}
			counters, err := inventory.Counters(ctx, dev.Name, p.Number)
			if err != nil {
				x.Error = err.Error()
			}
			for _, c := range counters {
				if c.Err == nil {
					x.Counters[c.Name] = c.Value
				}
			}
			all = append(all, x)
		}
	}
	return all
}
