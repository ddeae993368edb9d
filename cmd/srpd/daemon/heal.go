package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/lun"
)

// lookAgain has what is served compared with the units that targets have, soon. It does not wait.
func (d *Daemon) lookAgain() {
	select {
	case d.found <- struct{}{}:
	default: // it is going to be done
	}
}

// startHealing starts the goroutine that follows what targets have, and tries again what has failed: at first soon, then
// less and less often. Targets log in again by themselves.
func (d *Daemon) startHealing() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.heal(ctx)
	}()
	d.onStop("healing", func(over context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-over.Done():
			return over.Err()
		}
	})
}

// heal runs until ctx ends.
func (d *Daemon) heal(ctx context.Context) {
	pause := healFirst
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		again := false
		select {
		case <-d.found:
			if pause > healFirst { // what has come may have brought more
				pause = healFirst
				timer.Reset(pause)
			}
		case <-timer.C:
			again = true
		case <-ctx.Done():
			return
		}
		if d.takeServes(ctx) != nil {
			return
		}
		d.healOnce(ctx, again)
		d.giveServes()
		if again {
			pause = min(2*pause, healMost)
			timer.Reset(pause)
		}
	}
}

// healOnce follows what targets have, and with again tries what has failed.
func (d *Daemon) healOnce(ctx context.Context, again bool) {
	if again {
		d.retryStores(ctx)
	}
	d.followEvents()
	for l, err := range d.scan(ctx, ctx) {
		d.once("scan "+l.target.Name(), slog.LevelWarn, err, "units could not be looked for", keyTarget, l.target.Name())
	}
	if err := d.reconcile(ctx, again); err != nil && ctx.Err() == nil {
		d.once("reconcile", slog.LevelError, err, "units that have come are not served")
	}
}

// takeServes waits until nobody else changes what is served.
func (d *Daemon) takeServes(ctx context.Context) error {
	select {
	case d.serves <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Daemon) giveServes() { <-d.serves }

// retryStores tries to open the stores that could not be had.
func (d *Daemon) retryStores(ctx context.Context) {
	for i, e := range d.embedded {
		if len(e.Missing()) == 0 {
			continue
		}
		if e.Retry(ctx) {
			for _, l := range d.targets() {
				if l.target.Config().Port == e.ID() {
					l.scanned.Store(false)
				}
			}
		}
		d.logMissing(i)
	}
}

// logMissing tells of the units of embedded target i that have no store.
func (d *Daemon) logMissing(i int) {
	name := d.cfg.Embedded[i].Name
	for _, m := range d.embedded[i].Missing() {
		d.once(fmt.Sprintf("store %s %d", name, m.LUN), slog.LevelError, m, "unit has no store", keyTarget, name)
	}
}

// once logs an error, with the way out, unless the last of the same subject was the same.
func (d *Daemon) once(subject string, level slog.Level, err error, text string, args ...any) {
	if d.told[subject] == err.Error() {
		return
	}
	d.told[subject] = err.Error()
	args = append(args, keyError, err)
	if advice := exitcode.Advice(explain(err)); advice != "" {
		args = append(args, keyAdvice, advice)
	}
	d.log.Log(context.Background(), level, text, args...)
}

// missing is a unit that is not there because its store cannot be had.
type missing struct {
	target string // embedded
	serial string
	store  *embedded.StoreError
}

// missing returns all of them.
func (d *Daemon) missing() (all []missing) {
	for i, e := range d.embedded {
		for _, m := range e.Missing() {
			all = append(all, missing{d.cfg.Embedded[i].Name, e.Serial(m.LUN), m})
		}
	}
	return all
}

// nameMissing has units that have no store get their names, and keep them for when they have one.
func (d *Daemon) nameMissing(ctx context.Context) error {
	all := d.missing()
	if len(all) == 0 {
		return nil
	}
	for i := range d.embedded {
		d.logMissing(i)
	}
	ids := make([]scsi.UnitID, len(all))
	for i, m := range all {
		ids[i] = lun.UnitID(m.serial)
	}
	names, err := d.state.BindAll(ctx, ids)
	for i, name := range names {
		d.awaited[ids[i]] = name
	}
	return err
}

// away reports whether a target is not logged in because that has failed.
func away(t *miniport.Target) bool {
	return t.State() == miniport.TargetConnecting && (t.Err() != nil || t.Lost())
}

var errLost = errors.New("it has gone, and is not back yet")

// failures returns what is not served that should be, and why, a line each.
func (d *Daemon) failures() (all []string) {
	for _, l := range d.targets() {
		if away(l.target) {
			err := l.target.Err()
			if err == nil {
				err = errLost
			}
			all = append(all, fmt.Sprintf("target %s: %v", l.target.Name(), err))
		}
	}
	for _, m := range d.missing() {
		all = append(all, fmt.Sprintf("%s: %v", m.target, m.store))
	}
	for _, u := range d.list() {
		if u.failed() {
			all = append(all, u.err.Error())
		}
	}
	return all
}

// Summary says in a line how many disks are served, and what is missing.
func (d *Daemon) Summary() string {
	s := fmt.Sprintf("%d disks served", d.Served())
	bad := d.failures()
	if len(bad) == 0 {
		return s
	}
	more := ""
	if n := len(bad) - summarized; n > 0 {
		bad, more = bad[:summarized], fmt.Sprintf("; and %d more", n)
	}
	return s + "; failed: " + strings.ReplaceAll(strings.Join(bad, "; "), "\n", ", ") + more
}
