package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	"minisrp/scsi/lun"
	"minisrp/scsi/lun/thin"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// Config is what a target is made of.
type Config struct {
	Fabric    *soft.Fabric
	Processor *dispatch.Processor
	Addr      netip.AddrPort // on the fabric
	Name      string         // of the HCA; "" means target0
	IDExt     uint64         // id_ext
	GUID      verbs.GUID     // of the HCA; ioc_guid and, for the IB CM, service_id

	Units   []Unit                   // by LUN
	Thin    func() (*thin.DB, error) // the database of units of kind Badger, which its owner opens when it is first asked for
	Partial bool                     // a unit whose store cannot be had is left out: see Missing and Retry
	Credits int                      // requests that a channel may have outstanding; 0 means the target's default
	Buffers *target.Buffers          // memory for data of units in files, shared with other targets; nil: of its own

	Faults Faults
	Log    *slog.Logger
}

// Unit is what a unit is made of.
type Unit struct {
	Serial   string
	Store    Kind
	Size     uint64 // bytes; 0: as a file is, or the default of the kind
	Path     string // of a file store
	Name     string // in the database of thin units
	ReadOnly bool   // writes end with WRITE PROTECTED, and a file that is there is only read
}

// Target is a running target.
//
// Ownership: made by Start, ended by Close of the same caller, who also calls Retry; the rest may be called by anybody.
type Target struct {
	// Fixed after construction.
	cfg    Config
	device *verbs.Device
	port   *target.Port

	units []*lun.Unit // by LUN; nil: its store is missing

	mu      sync.Mutex
	missing []*StoreError // by LUN
	rules   *fault.Rules  // nil: it does nothing wrong
}

// Start makes the target and its units, and listens. Errors: *StoreError unless Partial, those of the target.
func Start(ctx context.Context, cfg Config) (*Target, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := &Target{cfg: cfg}
	if err := t.start(ctx); err != nil {
		return nil, errors.Join(err, t.Close(context.WithoutCancel(ctx)))
	}
	return t, nil
}

func (t *Target) start(ctx context.Context) error {
	cfg := &t.cfg
	t.units = make([]*lun.Unit, len(cfg.Units))
	for n := range cfg.Units {
		var missing *StoreError
		if t.units[n], missing = t.open(ctx, n); missing == nil {
			continue
		}
		if !cfg.Partial {
			return missing
		}
		t.missing = append(t.missing, missing)
	}
	hca, err := cfg.Fabric.Plug(soft.HCAConfig{Name: cmp.Or(cfg.Name, "target0"), GUID: cfg.GUID, Addr: cfg.Addr.Addr()})
	if err != nil {
		return err
	}
	t.device = verbs.Open(hca, cfg.Processor, nil)
	pc := target.Config{Device: t.device, Processor: cfg.Processor, ID: t.ID(), Credits: cfg.Credits, Shared: cfg.Buffers, Log: cfg.Log}
	if cfg.Faults.Rules != "" {
		if t.rules, err = fault.Parse(cfg.Faults.Rules); err != nil {
			return err
		}
		pc.Faults = t.rules
		cfg.Log.Warn("embedded target goes wrong on purpose", "target", t.ID(), "faults", t.rules)
	}
	if t.port, err = target.New(ctx, pc); err != nil {
		return err
	}
	for n, u := range t.units {
		if u == nil {
			continue
		}
		if err := t.port.Attach(ctx, n, u); err != nil {
			return err
		}
	}
	if cfg.Faults.Disabled {
		t.port.SetEnabled(false)
	}
	for _, at := range []verbs.Address{{Dst: cfg.Addr}, {ServiceID: uint64(cfg.GUID)}} {
		if err := t.port.Listen(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// open makes unit n, which is not shown yet.
func (t *Target) open(ctx context.Context, n int) (*lun.Unit, *StoreError) {
	unit := &t.cfg.Units[n]
	s, err := openStore(ctx, unit, t.cfg.Log, t.cfg.Thin, n)
	if err != nil {
		return nil, err
	}
	u, nerr := lun.NewUnit(t.cfg.Processor, lun.Config{
		Store: s, Serial: unit.Serial, ReadOnly: unit.ReadOnly, Empty: slices.Contains(t.cfg.Faults.Empty, n),
	})
	if nerr != nil {
		return nil, &StoreError{LUN: n, Path: unit.path(), Err: errors.Join(nerr, s.Close(ctx))}
	}
	return u, nil
}

// Serial returns the serial number of unit n.
func (t *Target) Serial(n int) string { return t.cfg.Units[n].Serial }

// Missing returns which units are not there because their stores cannot be had, and why.
func (t *Target) Missing() []*StoreError {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.missing)
}

// Retry tries again to open what is missing, and shows what it has got. It reports whether that is anything.
func (t *Target) Retry(ctx context.Context) bool {
	var still []*StoreError
	all := t.Missing()
	for _, m := range all {
		u, missing := t.open(ctx, m.LUN)
		if missing == nil {
			err := t.port.Attach(ctx, m.LUN, u)
			if err == nil {
				t.units[m.LUN] = u
				continue
			}
			missing = &StoreError{LUN: m.LUN, Path: m.Path, Err: errors.Join(err, u.Close(ctx))}
		}
		still = append(still, missing)
	}
	t.mu.Lock()
	t.missing = still
	t.mu.Unlock()
	return len(still) < len(all)
}

// ID returns the target port identifier.
func (t *Target) ID() srp.PortID { return srp.IOClassR16a.PortID(t.cfg.IDExt, uint64(t.cfg.GUID)) }

// LoginString returns how to log in, as ib_srp's add_target takes it.
func (t *Target) LoginString() string {
	return fmt.Sprintf("id_ext=%016x,ioc_guid=%016x,dest=%s", t.cfg.IDExt, uint64(t.cfg.GUID), t.cfg.Addr)
}

// Port returns the target port, to which units can be attached, and from which they can be detached.
func (t *Target) Port() *target.Port { return t.port }

// Device returns the target's HCA.
func (t *Target) Device() *verbs.Device { return t.device }

// Sessions returns who is logged in.
func (t *Target) Sessions(ctx context.Context) ([]target.Session, error) { return t.port.Sessions(ctx) }

// Close logs initiators out, flushes and closes the stores, and unplugs the HCA. When ctx ends first it returns ctx's
// error, and the rest is left as it is.
func (t *Target) Close(ctx context.Context) error {
	if t.port != nil {
		if err := t.port.Close(ctx); err != nil {
			return err
		}
		t.tellFaults()
	}
	var errs []error
	for n, u := range t.units {
		if u == nil {
			continue
		}
		if err := u.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("embedded target, LUN %d: %w", n, err))
		}
	}
	if t.device != nil {
		errs = append(errs, t.device.Close(ctx))
	}
	return errors.Join(errs...)
}

// tellFaults logs what the target has done wrong.
func (t *Target) tellFaults() {
	for _, f := range t.Faults() {
		t.cfg.Log.Info("fault on purpose", "target", t.ID(), "fault", f.Rule, "times", f.Hits)
	}
}
