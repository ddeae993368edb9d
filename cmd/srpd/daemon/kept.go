package daemon

import (
	"cmp"
	"context"
	"slices"

	"minisrp/cmd/srpd/state"
	"minisrp/srp"
)

// Who wants a target.
const (
	originConfiguration = "configuration"
	originEmbedded      = "embedded" // of itself, as no configuration names a target
	originControl       = "control"  // somebody at the control socket; the state keeps it
)

// whence says who wants it, in words behind "is there".
func (l *login) whence() string {
	switch l.origin {
	case originConfiguration:
		return "as the configuration says"
	case originEmbedded:
		return "as one of the daemon's own"
	}
	return "as it was added by srpctl add"
}

// targets returns the target ports that there are.
func (d *Daemon) targets() []*login {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.logins)
}

// key tells I_T nexuses apart, by what the two ports are called.
func (d *Daemon) key(o *srp.TargetOptions) string {
	c := d.targetConfig(o)
	return c.Port.String() + " " + c.Initiator.String()
}

// loadKept reads the targets that were added at the control socket. One that cannot be logged in to any more, since the
// configuration is another, is left out, and kept.
func (d *Daemon) loadKept(ctx context.Context) error {
	all, err := d.state.Targets(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		o, err := srp.ParseTarget(t.Login)
		if err != nil {
			d.log.Error("a target that was added is left out", keyLogin, t.Login, keyError, err)
			continue
		}
		if o.Protect.Given && o.Protect.Value != d.protect {
			d.log.Warn("memory is protected in one way for all targets", keyLogin, t.Login, keyProtect, d.protect)
			o.Protect = srp.Setting[srp.Protect]{}
		}
		d.kept = append(d.kept, &login{origin: originControl, options: o, luns: t.LUNs})
	}
	slices.SortFunc(d.kept, func(a, b *login) int { return cmp.Compare(a.options.String(), b.options.String()) })
	return nil
}

// addKept puts them behind the others, but for those that are there already.
func (d *Daemon) addKept() {
	for _, l := range d.kept {
		key := d.key(l.options)
		if slices.ContainsFunc(d.logins, func(o *login) bool { return d.key(o.options) == key }) {
			d.log.Warn("a target that was added is one of the configuration too, which counts", keyLogin, l.options.String())
			continue
		}
		d.logins = append(d.logins, l)
	}
	d.kept = nil
}

// keep has the state know a target.
func (d *Daemon) keep(ctx context.Context, key string, l *login) error {
	return d.state.PutTarget(ctx, key, state.Target{Login: l.options.String(), LUNs: l.luns})
}
