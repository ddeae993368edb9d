package rig

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
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
	Disk       func(o *disk.Options)          // changes how disks are opened
}

// Rig is a running stack: a target, and a host that is logged in to it.
type Rig struct {
	*Host
	Processor *dispatch.Processor
	Fabric    *soft.Fabric
	Target    *target.Port
	Units     []*lun.Unit

	device *verbs.Device
	hosts  []*Host
	own    bool
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
	hca, err := r.Fabric.Plug(soft.HCAConfig{Name: "target", GUID: 1, Addr: netip.MustParseAddr("192.0.2.10")})
	if err != nil {
		return err
	}
	r.device = verbs.Open(hca, r.Processor, nil)
	if err := r.startTarget(ctx, c); err != nil {
		return err
	}
	r.Host, err = r.Join(ctx, HostConfig{
		Addr: netip.MustParseAddr("192.0.2.20"), GUID: 2, Initiator: InitiatorID, Protect: c.Protect,
		Session: c.Session, Target: c.Initiators, Disk: c.Disk,
	})
	return err
}

func (r *Rig) startTarget(ctx context.Context, c *Config) error {
	tc := target.Config{Device: r.device, Processor: r.Processor, ID: TargetID}
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

// Close ends everything that New and Join have started.
func (r *Rig) Close(ctx context.Context) error {
	var errs []error
	for _, h := range r.hosts {
		errs = append(errs, h.stop(ctx))
	}
	if r.Target != nil {
		errs = append(errs, r.Target.Close(ctx))
	}
	for _, u := range r.Units {
		errs = append(errs, u.Close(ctx))
	}
	for _, h := range r.hosts {
		errs = append(errs, h.device.Close(ctx))
	}
	if r.device != nil {
		errs = append(errs, r.device.Close(ctx))
	}
	if r.own {
		r.Processor.Close()
	}
	return errors.Join(errs...)
}
