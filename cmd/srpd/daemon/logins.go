package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
	"minisrp/miniport"
	"minisrp/srp"
)

// login is a target port to log in to.
type login struct {
	options *srp.TargetOptions
	luns    []int            // to serve; none means all
	target  *miniport.Target // once it has been added
}

// parseTargets reads the login strings.
func parseTargets(cfg *Config) ([]*login, error) {
	var all []*login
	for _, t := range cfg.Targets {
		o, err := srp.ParseTarget(t.Login)
		if err != nil {
			return nil, explain(fmt.Errorf("--target %q: %w", t.Login, err))
		}
		for _, s := range []struct {
			setting *srp.Setting[int]
			value   int
		}{{&o.Channels, t.Channels}, {&o.QueueSize, t.QueueSize}} {
			if s.value != 0 && !s.setting.Given {
				*s.setting = srp.Setting[int]{Value: s.value, Given: true}
			}
		}
		all = append(all, &login{options: o, luns: t.LUNs})
	}
	return all, nil
}

// protection returns the one protection of the adapter: what all login strings that say one agree on, else the
// command line's.
func protection(cfg *Config, logins []*login) (srp.Protect, error) {
	words := map[string]srp.Protect{"io": srp.ProtectIO, "bounce": srp.ProtectBounce, "region": srp.ProtectRegion}
	p, ok := words[cfg.Protect]
	if !ok {
		return 0, usage("--protect is %q, want io, bounce or region", cfg.Protect)
	}
	first := true
	for _, l := range logins {
		if !l.options.Protect.Given {
			continue
		}
		if !first && l.options.Protect.Value != p {
			return 0, usage("the login strings of --target say protect= differently, and memory is protected in one way for all")
		}
		p, first = l.options.Protect.Value, false
	}
	return p, nil
}

// channels returns the most channels that a session asks for. Without login strings there is one, with the command
// line's.
func channels(cfg *Config, logins []*login) int {
	if len(logins) == 0 {
		return cfg.Channels
	}
	n := 1
	for _, l := range logins {
		n = max(n, l.options.Channels.Or(cfg.Channels))
	}
	return n
}

// startLogins logs in to every target, and waits for it.
func (d *Daemon) startLogins(ctx context.Context) error {
	if len(d.logins) == 0 {
		for _, e := range d.embedded {
			o, err := srp.ParseTarget(e.LoginString())
			if err != nil {
				return err
			}
			d.logins = append(d.logins, &login{options: o})
		}
	}
	for _, l := range d.logins {
		address := l.options.Address()
		if !d.reaches(&address) {
			return exitcode.With(exitcode.Unreachable, fmt.Errorf("--target %s: no RDMA device for that address", address), d.whatIsReached())
		}
		tc := d.targetConfig(l.options)
		var err error
		if l.target, err = d.srp.AddTarget(ctx, tc, false); err != nil {
			return err
		}
	}
	return nil
}

func (d *Daemon) whatIsReached() string {
	if len(d.embedded) == 0 {
		return "this build reaches targets on the software HCA in its own process only: add --embedded to have one"
	}
	if len(d.embedded) == 1 {
		return "this build reaches targets on the software HCA in its own process only; the embedded one is\n" + d.embedded[0].LoginString()
	}
	lines := []string{"this build reaches targets on the software HCA in its own process only; the embedded ones are"}
	for i, e := range d.embedded {
		lines = append(lines, d.cfg.Embedded[i].Name+": "+e.LoginString())
	}
	return strings.Join(lines, "\n")
}

// targetConfig makes of a login string what the adapter wants to know.
func (d *Daemon) targetConfig(o *srp.TargetOptions) miniport.TargetConfig {
	ext := uint64(d.identity.InitiatorExt)
	if o.InitiatorExt != 0 {
		ext = o.InitiatorExt
	}
	address := o.Address()
	tc := miniport.TargetConfig{
		Name: address.String(), Address: address, Port: o.Target(),
		Initiator: o.Class().PortID(ext, uint64(d.identity.InitiatorGUID)),
	}
	if i := slices.IndexFunc(d.embedded, func(e *embedded.Target) bool { return e.ID() == tc.Port }); i >= 0 {
		tc.Name = d.cfg.Embedded[i].Name
	}
	if i := slices.IndexFunc(d.srp.Targets(), func(t *miniport.Target) bool { return t.Name() == tc.Name }); i >= 0 {
		tc.Name = fmt.Sprintf("%s#%d", tc.Name, len(d.srp.Targets()))
	}
	tc.Session.Channels = d.cfg.Channels
	o.Configure(&tc.Session)
	tc.Session.QueueSize = o.QueueSize.Or(d.cfg.QueueSize)
	return tc
}

// scan looks for units behind every target. Those that cannot be asked are logged, and missing.
func (d *Daemon) scan(ctx context.Context) ([]*miniport.Unit, error) {
	var all []*miniport.Unit
	for _, l := range d.logins {
		found, err := d.port.Scan(ctx, d.adapter, l.target)
		if err != nil && (len(found) == 0 || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			d.log.Warn("units that could not be asked are left out", keyTarget, l.target.Name(), keyError, err)
		}
		for _, u := range found {
			if !slices.Contains(all, u) && l.serves(u) {
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// serves reports whether the user wants a unit of this target.
func (l *login) serves(u *miniport.Unit) bool {
	return len(l.luns) == 0 || slices.ContainsFunc(u.Paths(), func(p *miniport.Path) bool {
		k, ok := p.LUN().Unit()
		return ok && p.Target() == l.target && slices.Contains(l.luns, int(k))
	})
}

// chosen returns those units that the user wants.
func (d *Daemon) chosen(all []*miniport.Unit) ([]*miniport.Unit, error) {
	if len(d.cfg.LUNs) == 0 {
		return all, nil
	}
	var some []*miniport.Unit
	var there []string
	for _, u := range all {
		for _, p := range u.Paths() {
			there = append(there, p.LUN().String())
		}
	}
	for _, n := range d.cfg.LUNs {
		found := false
		for _, u := range all {
			if slices.ContainsFunc(u.Paths(), func(p *miniport.Path) bool { k, ok := p.LUN().Unit(); return ok && k == uint64(n) }) {
				found = true
				if !slices.Contains(some, u) {
					some = append(some, u)
				}
			}
		}
		if !found {
			return nil, exitcode.With(exitcode.NotFound, fmt.Errorf("--lun %d: %w", n, miniport.ErrNoUnit),
				fmt.Sprintf("LUNs that are there: %v", there))
		}
	}
	return some, nil
}

// errNoUnits says that there is nothing to serve.
var errNoUnits = errors.New("the targets have no logical units")
