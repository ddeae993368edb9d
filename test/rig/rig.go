package rig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// Config says what to set up. The zero value is one ram unit of 64 MiB on one
// processor.
type Config struct {
	Stores     []lun.Store // nil: one ram store of 64 MiB
	Fabric     soft.Config
	Target     func(c *target.Config)         // changes the target's configuration
	Session    func(c *srp.SessionConfig)     // and what the login asks for
	Protect    srp.Protect                    // of the initiator
	Processor  *dispatch.Processor            // nil: one is made
	Initiators func(c *miniport.TargetConfig) // changes who logs in
}

// Rig is a running stack.
type Rig struct {
	Processor *dispatch.Processor
	Fabric    *soft.Fabric
	Target    *target.Port
	Units     []*lun.Unit
	Port      *miniport.Port
	SRP       *miniport.SRP
	Adapter   *miniport.Adapter
	Path      *miniport.Target
	Disks     []*disk.Disk

	devices [2]*verbs.Device
	own     bool
}

// TargetID and InitiatorID are the port IDs in use; Address is where the target
// listens.
var (
	TargetID    = srp.IOClassR16a.PortID(0x0002c90300000001, 0x0002c90300000001)
	InitiatorID = srp.IOClassR16a.PortID(0, 0x0002c90300000002)
	Address     = verbs.Address{Dst: netip.MustParseAddrPort("192.0.2.10:5555")}
)

// New sets up the stack, up to open disks.
func New(ctx context.Context, c Config) (*Rig, error) {
	r := &Rig{Processor: c.Processor, Fabric: soft.New(c.Fabric)}
	if r.Processor == nil {
		r.Processor, r.own = dispatch.New("rig"), true
	}
	if err := r.start(ctx, &c); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

func (r *Rig) start(ctx context.Context, c *Config) error {
	for i, h := range []soft.HCAConfig{
		{Name: "target", GUID: 1, Addr: netip.MustParseAddr("192.0.2.10")},
		{Name: "initiator", GUID: 2, Addr: netip.MustParseAddr("192.0.2.20")},
	} {
		hca, err := r.Fabric.Plug(h)
		if err != nil {
			return err
		}
		r.devices[i] = verbs.Open(hca, r.Processor, nil)
	}
	if err := r.startTarget(ctx, c); err != nil {
		return err
	}
	return r.startInitiator(ctx, c)
}

func (r *Rig) startTarget(ctx context.Context, c *Config) error {
	tc := target.Config{Device: r.devices[0], Processor: r.Processor, ID: TargetID}
	if c.Target != nil {
		c.Target(&tc)
	}
	var err error
	if r.Target, err = target.New(ctx, tc); err != nil {
		return err
	}
	stores := c.Stores
	if stores == nil {
		s, err := lun.NewRAM(64<<20, 512)
		if err != nil {
			return err
		}
		stores = []lun.Store{s}
	}
	for i, s := range stores {
		u, err := lun.NewUnit(r.Processor, lun.Config{Store: s, Serial: fmt.Sprintf("rig%d", i)})
		if err != nil {
			return err
		}
		r.Units = append(r.Units, u)
		if err := r.Target.Attach(ctx, i, u); err != nil {
			return err
		}
	}
	return r.Target.Listen(ctx, Address)
}

func (r *Rig) startInitiator(ctx context.Context, c *Config) error {
	var err error
	quiet := slog.New(slog.DiscardHandler)
	if r.Port, err = miniport.New(miniport.Config{Processors: []*dispatch.Processor{r.Processor}, Log: quiet}); err != nil {
		return err
	}
	r.SRP = miniport.NewSRP(miniport.SRPConfig{Device: r.devices[1], Protect: c.Protect})
	if r.Adapter, err = r.Port.AddAdapter(ctx, "srp0", r.SRP); err != nil {
		return err
	}
	tc := miniport.TargetConfig{Address: Address, Port: TargetID, Initiator: InitiatorID}
	tc.Session.ImmediateData = srp.DefaultImmediateData
	tc.Session.AllowExternalTable = true
	if c.Session != nil {
		c.Session(&tc.Session)
	}
	if c.Initiators != nil {
		c.Initiators(&tc)
	}
	if r.Path, err = r.SRP.AddTarget(ctx, tc, false); err != nil {
		return err
	}
	units, err := r.Port.Scan(ctx, r.Adapter, r.Path)
	if err != nil {
		return err
	}
	for _, u := range units {
		d, err := disk.Open(ctx, u, r.Port, disk.Options{
			Log:         quiet,
			MaxTransfer: min(disk.DefaultMaxTransfer, r.Path.Info().MaxTransfer),
			MaxSegments: min(disk.MaxSegments, r.Path.Info().MaxSegments),
		})
		if err != nil {
			return err
		}
		r.Disks = append(r.Disks, d)
	}
	return nil
}

// Memory makes registered memory of n bytes.
func (r *Rig) Memory(ctx context.Context, n int) (*miniport.Region, func(), error) {
	a, err := arena.New(n)
	if err != nil {
		return nil, nil, err
	}
	region, err := r.Port.RegisterRegion(ctx, a)
	if err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return region, func() {
		r.Port.DeregisterRegion(context.WithoutCancel(ctx), region)
		a.Close()
	}, nil
}

// Do submits a request and waits for it.
func (r *Rig) Do(d *disk.Disk, q *disk.Request) error {
	done := make(chan struct{})
	q.Done = func(*dispatch.Frame, *disk.Request) { close(done) }
	var f dispatch.Frame
	r.Processor.Raise(&f)
	d.Submit(&f, q)
	f.Lower()
	<-done
	return q.Err
}

// Close ends everything that New has started.
func (r *Rig) Close(ctx context.Context) error {
	var errs []error
	for _, d := range r.Disks {
		errs = append(errs, d.Close(ctx))
	}
	if r.Port != nil {
		errs = append(errs, r.Port.Close(ctx))
	}
	if r.Target != nil {
		errs = append(errs, r.Target.Close(ctx))
	}
	for _, u := range r.Units {
		errs = append(errs, u.Close(ctx))
	}
	for _, d := range r.devices {
		if d != nil {
			errs = append(errs, d.Close(ctx))
		}
	}
	if r.own {
		r.Processor.Close()
	}
	return errors.Join(errs...)
}
