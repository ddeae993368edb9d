package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
	"minisrp/miniport"
	"minisrp/srp"
)

// login is a target port to log in to.
//
// Ownership: fixed once the target has been added, but for what is atomic.
type login struct {
	origin   string // who wants it: see originConfiguration
	options  *srp.TargetOptions
	luns     []int // to serve; none means all
	required bool  // the daemon does not start without it
	target   *miniport.Target

	scanned atomic.Bool // all that the target has was found when it was last looked at
}

// parseTargets reads the login strings.
func parseTargets(cfg *Config) ([]*login, error) {
	var all []*login
	for _, t := range cfg.Targets {
		o, err := srp.ParseTarget(t.Login)
		if err != nil {
			return nil, explain(fmt.Errorf("--target %q: %w", t.Login, err))
		}
		settings(o, t.Channels, t.QueueSize)
		all = append(all, &login{origin: originConfiguration, options: o, luns: t.LUNs, required: t.Required})
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

// startLogins tries to log in to every target, all at once. Those that are not required are tried on and on, and waited
// for only once.
func (d *Daemon) startLogins(ctx, patience context.Context) error {
	if len(d.cfg.Targets) == 0 {
		for i, e := range d.embedded {
			o, err := srp.ParseTarget(e.LoginString())
			if err != nil {
				return err
			}
			d.logins = append(d.logins, &login{origin: originEmbedded, options: o, required: d.cfg.Embedded[i].Required})
		}
	}
	d.addKept()
	if len(d.logins) == 0 {
		d.log.Warn("there is no target to log in to yet: neither --embedded nor --target is given, and none was added before",
			keyAdvice, "srpctl add adds one; srpd run --embedded has one of its own")
	}
	errs := make([]error, len(d.logins))
	var all sync.WaitGroup
	var names []string
	for i, l := range d.logins {
		address := l.options.Address()
		if !d.reaches(&address) {
			errs[i] = exitcode.With(exitcode.Unreachable, fmt.Errorf("--target %s: no RDMA device for that address", address), d.whatIsReached())
			if l.required {
				continue
			}
			d.log.Error("target cannot be reached", keyTarget, address.String(), keyError, errs[i], keyAdvice, d.whatIsReached())
		}
		tc := d.targetConfig(l.options)
		if slices.Contains(names, tc.Name) {
			tc.Name = fmt.Sprintf("%s#%d", tc.Name, i)
		}
		names = append(names, tc.Name)
		all.Go(func() { l.target, errs[i] = d.srp.AddTarget(l.waits(ctx, patience), tc, !l.required) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// waits returns the context in which what is behind a login is waited for: the longer one if it is required.
func (l *login) waits(ctx, patience context.Context) context.Context {
	if l.required {
		return ctx
	}
	return patience
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
	tc.Session.Channels = d.cfg.Channels
	o.Configure(&tc.Session)
	tc.Session.QueueSize = o.QueueSize.Or(d.cfg.QueueSize)
	if d.reaches(&address) {
		tc.Session.QueueSize = min(tc.Session.QueueSize, d.hostedQueue())
		tc.Session.ReceiveLen = hostedReceive
	}
	return tc
}

// scan looks for units behind the targets of which not everything is known, and which are there. It returns what
// failed, by login.
func (d *Daemon) scan(ctx, patience context.Context) map[*login]error {
	failed := map[*login]error{}
	for _, l := range d.targets() {
		if l.scanned.Load() || l.target.State() != miniport.TargetUp {
			continue
		}
		switch found, err := d.look(l.waits(ctx, patience), l); {
		case err == nil:
		case found && ctx.Err() == nil:
			d.once("scan "+l.target.Name(), slog.LevelWarn, err, "units that could not be asked are left out", keyTarget, l.target.Name())
		default:
			failed[l] = err
		}
	}
	return failed
}

// look looks for the units behind a target, and reports whether it has found some. The error may be of others.
func (d *Daemon) look(ctx context.Context, l *login) (found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	l.scanned.Store(true) // what changes from here on is told
	units, err := d.port.Scan(ctx, d.adapter, l.target)
	if err != nil {
		l.scanned.Store(false)
	}
	return len(units) > 0, err
}

// serves reports whether the user wants a unit of this target.
func (l *login) serves(u *miniport.Unit) bool {
	return slices.ContainsFunc(u.Paths(), func(p *miniport.Path) bool {
		k, ok := p.LUN().Unit()
		return p.Target() == l.target && (len(l.luns) == 0 || ok && slices.Contains(l.luns, int(k)))
	})
}

// chosen fails if LUNs that the user named are not there.
func (d *Daemon) chosen(all []*miniport.Unit) error {
	var there []string
	for _, u := range all {
		for _, p := range u.Paths() {
			there = append(there, p.LUN().String())
		}
	}
	for _, n := range d.cfg.LUNs {
		if !slices.ContainsFunc(all, func(u *miniport.Unit) bool { return at(u, n) }) {
			return exitcode.With(exitcode.NotFound, fmt.Errorf("--lun %d: %w", n, miniport.ErrNoUnit),
				"LUNs that are there: "+strings.Join(there, ", "))
		}
	}
	return nil
}

// at reports whether a unit is LUN n of a target.
func at(u *miniport.Unit, n int) bool {
	return slices.ContainsFunc(u.Paths(), func(p *miniport.Path) bool { k, ok := p.LUN().Unit(); return ok && k == uint64(n) })
}

// wanted reports whether the user wants a unit: behind a login, if that names LUNs one of those, and of those that
// --lun names.
func (d *Daemon) wanted(u *miniport.Unit) bool {
	return slices.ContainsFunc(d.targets(), func(l *login) bool { return l.serves(u) }) &&
		(len(d.cfg.LUNs) == 0 || slices.ContainsFunc(d.cfg.LUNs, func(n int) bool { return at(u, n) }))
}

// errNoUnits says that there is nothing to serve.
var errNoUnits = errors.New("the targets have no logical units")
