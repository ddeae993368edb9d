package rig

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// HostConfig says who joins a rig.
type HostConfig struct {
	Addr      netip.Addr // of its HCA, another for each host
	GUID      verbs.GUID // likewise
	Initiator srp.PortID
	Protect   srp.Protect
	Session   func(c *srp.SessionConfig)     // changes what the login asks for
	Target    func(c *miniport.TargetConfig) // changes where it logs in
	Disk      func(o *disk.Options)          // changes how disks are opened
}

// Host is an HCA with a port driver that is logged in to the rig's target, and a disk
// on each unit that it sees there.
type Host struct {
	Port    *miniport.Port
	SRP     *miniport.SRP
	Adapter *miniport.Adapter
	Path    *miniport.Target
	Disks   []*disk.Disk

	proc   *dispatch.Processor
	device *verbs.Device
}

// Join makes a host. It belongs to the rig, also when it could not log in.
func (r *Rig) Join(ctx context.Context, c HostConfig) (*Host, error) {
	hca, err := r.Fabric.Plug(soft.HCAConfig{Name: c.Addr.String(), GUID: c.GUID, Addr: c.Addr})
	if err != nil {
		return nil, err
	}
	h := &Host{proc: r.Processor, device: verbs.Open(hca, r.Processor, nil)}
	r.hosts = append(r.hosts, h)
	return h, h.start(ctx, &c)
}

func (h *Host) start(ctx context.Context, c *HostConfig) error {
	var err error
	quiet := slog.New(slog.DiscardHandler)
	if h.Port, err = miniport.New(miniport.Config{Processors: []*dispatch.Processor{h.proc}, Log: quiet}); err != nil {
		return err
	}
	h.SRP = miniport.NewSRP(miniport.SRPConfig{Device: h.device, Protect: c.Protect})
	if h.Adapter, err = h.Port.AddAdapter(ctx, "srp0", h.SRP); err != nil {
		return err
	}
	tc := miniport.TargetConfig{Address: Address, Port: TargetID, Initiator: c.Initiator}
	tc.Session.ImmediateData = srp.DefaultImmediateData
	tc.Session.AllowExternalTable = true
	if c.Session != nil {
		c.Session(&tc.Session)
	}
	if c.Target != nil {
		c.Target(&tc)
	}
	if h.Path, err = h.SRP.AddTarget(ctx, tc, false); err != nil {
		return err
	}
	units, err := h.Port.Scan(ctx, h.Adapter, h.Path)
	if err != nil {
		return err
	}
	for _, u := range units {
		o := disk.Options{
			Log:         quiet,
			MaxTransfer: min(disk.DefaultMaxTransfer, h.Path.Info().MaxTransfer),
			MaxSegments: min(disk.MaxSegments, h.Path.Info().MaxSegments),
		}
		if c.Disk != nil {
			c.Disk(&o)
		}
		d, err := disk.Open(ctx, u, h.Port, o)
		if err != nil {
			return err
		}
		h.Disks = append(h.Disks, d)
	}
	return nil
}

// Memory makes registered memory of n bytes.
func (h *Host) Memory(ctx context.Context, n int) (*miniport.Region, func(), error) {
	a, err := arena.New(n)
	if err != nil {
		return nil, nil, err
	}
	region, err := h.Port.RegisterRegion(ctx, a)
	if err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return region, func() {
		h.Port.DeregisterRegion(context.WithoutCancel(ctx), region)
		a.Close()
	}, nil
}

// Submit submits a request; the channel is closed when it has ended.
func (h *Host) Submit(d *disk.Disk, q *disk.Request) <-chan struct{} {
	done := make(chan struct{})
	q.Done = func(*dispatch.Frame, *disk.Request) { close(done) }
	var f dispatch.Frame
	h.proc.Raise(&f)
	d.Submit(&f, q)
	f.Lower()
	return done
}

// Do submits a request and waits for it.
func (h *Host) Do(d *disk.Disk, q *disk.Request) error {
	<-h.Submit(d, q)
	return q.Err
}

// stop logs out, and closes all but the HCA.
func (h *Host) stop(ctx context.Context) error {
	var errs []error
	for _, d := range h.Disks {
		errs = append(errs, d.Close(ctx))
	}
	if h.Port != nil {
		errs = append(errs, h.Port.Close(ctx))
	}
	return errors.Join(errs...)
}
