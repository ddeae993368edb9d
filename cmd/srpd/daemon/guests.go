package daemon

import (
	"context"
	"fmt"
	"strings"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
)

// Clients implements control.Source.
func (s *status) Clients(context.Context) (*control.Clients, error) {
	a := &control.Clients{Version: control.Version, Clients: []control.NBDClient{}}
	for _, c := range s.d.nbd.Connections() {
		x := control.NBDClient{
			Export: c.Export, Client: c.Client.String(), UID: c.Client.UID, PID: c.Client.PID, TLS: c.Client.TLS,
			Name: c.Client.Name, Requests: c.Requests, InFlight: c.InFlight,
		}
		if c.Client.Addr.IsValid() {
			x.Address = c.Client.Addr.String()
		}
		a.Clients = append(a.Clients, x)
	}
	return a, nil
}

// Hosted implements control.Source.
func (s *status) Hosted(ctx context.Context) (*control.Hosted, error) {
	a := &control.Hosted{Version: control.Version, Targets: []control.HostedTarget{}}
	for i, e := range s.d.embedded {
		x, err := hostedTarget(ctx, s.d.cfg.Embedded[i].Name, e)
		if err != nil {
			return nil, err
		}
		a.Targets = append(a.Targets, x)
	}
	return a, nil
}

func hostedTarget(ctx context.Context, name string, e *embedded.Target) (control.HostedTarget, error) {
	x := control.HostedTarget{
		Name: name, TargetID: e.ID().String(), String: e.LoginString(),
		Faults: []control.Fault{}, Sessions: []control.HostedSession{},
	}
	for _, f := range e.Faults() {
		x.Faults = append(x.Faults, control.Fault{Rule: f.Rule, Hits: f.Hits})
	}
	sessions, err := e.Sessions(ctx)
	if err != nil {
		return x, err
	}
	for i := range sessions {
		s := &sessions[i]
		y := control.HostedSession{Initiator: s.Initiator.String(), Group: s.Group, LUNs: []int{}, Channels: []control.HostedChannel{}}
		for _, u := range s.Units {
			y.LUNs = append(y.LUNs, u.LUN)
		}
		for _, c := range s.Channels {
			y.Channels = append(y.Channels, control.HostedChannel{
				ID: c.ID, Peer: c.From(), Age: c.Age.Seconds(), Credits: c.Credits, Outstanding: c.Outstanding, MaxIU: c.MaxIU,
				ImmediateData: c.ImmediateData, Commands: c.Commands, Tasks: c.Functions, Responses: c.Responses,
				BytesIn: c.BytesIn, BytesOut: c.BytesOut, Faults: c.Faults,
			})
		}
		x.Sessions = append(x.Sessions, y)
	}
	return x, nil
}

// SetFaults implements control.Admin.
func (a *admin) SetFaults(ctx context.Context, q *control.SetFaults, _ control.Progress) (*control.Hosted, error) {
	var names []string
	for i, e := range a.d.embedded {
		name := a.d.cfg.Embedded[i].Name
		if name != q.Target {
			names = append(names, name)
			continue
		}
		if err := e.SetFaults(ctx, q.Rules); err != nil {
			return nil, explain(err)
		}
		a.d.log.Warn("the embedded target goes wrong on purpose from now on", keyTarget, name, keyFaults, q.Rules)
		x, err := hostedTarget(ctx, name, e)
		return &control.Hosted{Version: control.Version, Targets: []control.HostedTarget{x}}, err
	}
	return nil, exitcode.With(exitcode.NotFound, fmt.Errorf("there is no target %q in this process", q.Target), "there are: "+strings.Join(names, ", "))
}

// AcceptLoss implements control.Admin.
func (a *admin) AcceptLoss(_ context.Context, q *control.AcceptLoss, _ control.Progress) (*control.Loss, error) {
	lost, err := a.d.nbd.AcceptLoss(q.Export)
	if err != nil {
		return nil, exitcode.With(exitcode.NotFound, err, "see: srpctl units")
	}
	return &control.Loss{Version: control.Version, Export: q.Export, Lost: lost}, nil
}
