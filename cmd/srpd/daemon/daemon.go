package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
	"minisrp/cmd/srpd/metrics"
	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/socket"
	"minisrp/cmd/srpd/state"
	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
	"minisrp/verbs/soft/tap"
)

// Daemon is a running daemon.
//
// Ownership: made by Start, ended by Stop of the same caller. What Start has set is not changed afterwards, but for
// what stands behind serves and mu, which the goroutine of startHealing and requests at the control socket change.
type Daemon struct {
	cfg     Config
	log     *slog.Logger
	started time.Time

	state      *state.Store
	identity   state.Identity
	processors []*dispatch.Processor
	capture    *tap.Capture // nil if there is none
	fabric     *soft.Fabric
	device     *verbs.Device // the initiator's
	embedded   []*embedded.Target
	port       *miniport.Port
	adapter    *miniport.Adapter
	srp        *miniport.SRP
	totals     totals
	memory     *disk.Memory  // of all disks
	protect    srp.Protect   // of memory from all targets
	kept       []*login      // that the state has, until they are among logins
	found      chan struct{} // capacity 1: the units that targets have are others
	nbd        *nbd.Server
	listeners  []net.Listener // of nbd
	scrapes    net.Listener   // of metrics; nil if there is none

	told    map[string]string      // the last error that was logged of each subject
	awaited map[scsi.UnitID]string // names of the units that had no store at the start

	serves chan struct{} // capacity 1: full while what is served is being changed; told and awaited are of whoever has filled it

	mu     sync.Mutex
	stocks map[string]*disk.Stock     // of the disks of each target, by its name
	logins []*login                   // use targets
	busy   map[string]*operation      // by login.key: what is being done with a target
	units  []*unit                    // what was found; elements do not change once they are in it
	events map[*miniport.Target]error // that were scanned since they said that something is other than before; see followEvents

	serving sync.WaitGroup
	failed  chan error // capacity for every listener

	parts []part // started, in order
}

// part is something that has been started, and how it is ended.
type part struct {
	name string
	stop func(context.Context) error
}

// onStop puts how a part is ended on the stack.
func (d *Daemon) onStop(name string, stop func(context.Context) error) {
	d.parts = append(d.parts, part{name, stop})
}

// Start starts a daemon; when it returns, clients are served what is there: targets and units that are not required may
// come later. The errors have exit codes.
func Start(ctx context.Context, cfg Config) (*Daemon, error) {
	if err := cfg.settle(); err != nil {
		return nil, err
	}
	d := &Daemon{
		cfg: cfg, log: cfg.Log, started: time.Now(), failed: make(chan error, 4), found: make(chan struct{}, 1),
		serves: make(chan struct{}, 1), busy: map[string]*operation{}, events: map[*miniport.Target]error{},
		told: map[string]string{}, awaited: map[scsi.UnitID]string{},
	}
	if err := d.start(ctx); err != nil {
		over, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if serr := d.takeApart(over); serr != nil {
			d.log.Error("not everything that was started could be ended", keyError, serr)
		}
		return nil, explain(err)
	}
	return d, nil
}

// start starts the parts, each when what it needs is there.
func (d *Daemon) start(ctx context.Context) (err error) {
	if d.logins, err = parseTargets(&d.cfg); err != nil {
		return err
	}
	if d.protect, err = protection(&d.cfg, d.logins); err != nil {
		return err
	}
	if err := d.startNBD(ctx); err != nil {
		return err
	}
	// First what others may have, so that nothing is touched in vain.
	ctl, err := d.listen(ctx)
	if err != nil {
		return err
	}
	if d.state, err = state.Open(d.cfg.StateDir, state.Options{Log: d.log}); err != nil {
		return err
	}
	d.onStop("state", func(context.Context) error { return d.state.Close() })
	if d.identity, err = d.state.Identity(ctx); err != nil {
		return err
	}
	if err := d.loadKept(ctx); err != nil {
		return err
	}
	if err := d.startFabric(ctx); err != nil {
		return err
	}
	changed := func(*miniport.Unit) { d.lookAgain() }
	d.port, err = miniport.New(miniport.Config{Processors: d.processors, Log: d.log, UnitFound: changed, UnitChanged: changed, Rescanned: d.rescanned})
	if err != nil {
		return err
	}
	d.onStop("port", d.port.Close)
	d.srp = miniport.NewSRP(miniport.SRPConfig{Device: d.device, Protect: d.protect})
	if d.adapter, err = d.port.AddAdapter(ctx, adapterName, d.srp); err != nil {
		return err
	}
	if d.memory, err = disk.NewMemory(ctx, d.port); err != nil {
		return err
	}
	d.onStop("memory of disks", d.memory.Close)
	patience, cancel := context.WithTimeout(ctx, firstRound)
	defer cancel()
	if err := d.startLogins(ctx, patience); err != nil {
		return err
	}
	if err := d.openDisks(ctx, patience); err != nil {
		return err
	}
	if err := d.startTotals(ctx); err != nil {
		return err
	}
	d.startHealing()
	debug.FreeOSMemory() // what logins and scans needed for a moment, which in an idle process would stay for long
	d.serve(ctl)
	return ctx.Err()
}

// listen takes the sockets. It returns the control socket's listener, which is not served yet, as the others are not.
func (d *Daemon) listen(ctx context.Context) (net.Listener, error) {
	take := func(l net.Listener) {
		d.onStop("socket "+l.Addr().String(), func(context.Context) error {
			if err := l.Close(); !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		})
	}
	for _, dir := range []struct{ option, value, path string }{
		{"--state-dir", d.cfg.StateDir, d.cfg.StateDir},
		{"--socket", d.cfg.Socket, filepath.Dir(d.cfg.Socket)},
		{"--control", d.cfg.Control, filepath.Dir(d.cfg.Control)},
	} {
		if err := os.MkdirAll(dir.path, 0o700); err != nil {
			err = fmt.Errorf("%s %s: %w", dir.option, dir.value, err)
			if errors.Is(err, fs.ErrNotExist) {
				err = exitcode.With(exitcode.Usage, err, "name a directory, or one that can be made")
			}
			return nil, err
		}
	}
	ctl, err := socket.ListenUnix(d.cfg.Control, 0o600)
	if err != nil {
		return nil, err
	}
	take(ctl)
	if err := d.shareControl(); err != nil {
		return nil, err
	}
	l, err := socket.ListenUnix(d.cfg.Socket, 0o600)
	if err != nil {
		return nil, err
	}
	take(l)
	d.listeners = append(d.listeners, l)
	if d.cfg.TCP != "" {
		l, err := socket.ListenTCP(d.cfg.TCP)
		if err != nil {
			return nil, fmt.Errorf("--tcp %s: %w", d.cfg.TCP, err)
		}
		take(l)
		d.warnOpen(l.Addr())
		d.listeners = append(d.listeners, l)
	}
	if d.cfg.Metrics != "" {
		if d.scrapes, err = socket.ListenTCP(d.cfg.Metrics); err != nil {
			return nil, fmt.Errorf("--metrics %s: %w", d.cfg.Metrics, err)
		}
		take(d.scrapes)
	}
	return ctl, ctx.Err()
}

// startFabric starts the processors, the fabric, and what is plugged into it.
func (d *Daemon) startFabric(ctx context.Context) error {
	for i := range channels(&d.cfg, slices.Concat(d.logins, d.kept)) {
		p := dispatch.New(fmt.Sprintf("srp%d", i), dispatch.WithBudget(d.cfg.Budget, dispatch.DefaultTime))
		d.processors = append(d.processors, p)
		d.onStop("processor "+p.Name(), func(context.Context) error {
			p.Close()
			d.logTimes(p)
			return nil
		})
	}
	var fc soft.Config
	if d.cfg.Capture != "" {
		if err := d.startCapture(); err != nil {
			return err
		}
		fc.Tap = d.capture
	}
	d.fabric = soft.New(fc)
	hca, err := d.fabric.Plug(soft.HCAConfig{
		Name: adapterName, GUID: verbs.GUID(d.identity.InitiatorGUID), Addr: initiatorAddr, CompletionVectors: len(d.processors),
	})
	if err != nil {
		return err
	}
	d.device = verbs.Open(hca, d.processors[0], nil)
	d.onStop("HCA "+adapterName, d.device.Close)
	return d.startEmbedded(ctx)
}

// serve starts the goroutines that serve clients.
func (d *Daemon) serve(ctl net.Listener) {
	d.onStop("NBD server", d.nbd.Shutdown)
	for _, l := range d.listeners {
		d.startServing("NBD on "+l.Addr().String(), func() error { return d.nbd.Serve(l) })
	}
	c := control.NewServer(&status{d}, &admin{d}, d.log)
	m := metrics.Handler(&status{d}, d.log)
	c.Handle("/metrics", m)
	if gid, err := GroupID(d.cfg.Group); err == nil && d.cfg.Group != "" {
		c.AllowGroup(gid)
	}
	if d.scrapes != nil {
		d.serveMetrics(m)
	}
	d.onStop("control socket", c.Shutdown)
	d.startServing("control on "+ctl.Addr().String(), func() error { return c.Serve(ctl) })
}

// startServing starts a goroutine that Stop waits for.
func (d *Daemon) startServing(what string, fn func() error) {
	d.serving.Go(func() {
		if err := fn(); err != nil {
			d.failed <- fmt.Errorf("%s: %w", what, err)
		}
	})
}

// Failed tells when a listener has failed: nobody can connect to it any more. Those who are connected are served on.
func (d *Daemon) Failed() <-chan error { return d.failed }

// Processors returns how many processors run.
func (d *Daemon) Processors() int { return len(d.processors) }

// logTimes tells how long a processor's DPCs took, if the run-time twin has measured it.
func (d *Daemon) logTimes(p *dispatch.Processor) {
	if dispatch.Twin {
		t := p.Times()
		d.log.Info("time at Dispatch", "processor", p.Name(), "p50", t.Percentile(0.5), "p99", t.Percentile(0.99), "worst", t.Worst, "by", t.Who, "all", t.String())
	}
}

// Stop ends the daemon. When ctx ends first, or a part cannot be ended, what is left goes with the process, and the
// error, whose exit code is exitcode.Unclean, says what it was.
func (d *Daemon) Stop(ctx context.Context) error {
	err := d.takeApart(ctx)
	if err != nil {
		return exitcode.With(exitcode.Unclean, err, "what was flushed before is safe; check what was written after that")
	}
	return nil
}

// takeApart ends the parts, last started first. An error of one does not keep the others from being ended, unless it
// is that there is no time left.
func (d *Daemon) takeApart(ctx context.Context) error {
	var errs []error
	for len(d.parts) > 0 {
		p := d.parts[len(d.parts)-1]
		d.parts = d.parts[:len(d.parts)-1]
		d.log.Debug("ending", keyPart, p.name)
		if err := p.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("ending %s: %w", p.name, err))
			if ctx.Err() != nil {
				return errors.Join(errs...)
			}
		}
	}
	d.serving.Wait()
	return errors.Join(errs...)
}
