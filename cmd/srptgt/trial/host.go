package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minisrp/cmd/srptgt/setup"
	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// host is an initiator: an HCA with a port driver.
type host struct {
	as      As
	procs   []*dispatch.Processor
	device  *verbs.Device
	port    *miniport.Port
	srp     *miniport.SRP
	adapter *miniport.Adapter
	arena   *arena.Arena
	region  *miniport.Region
}

// memory holds one block, in bytes: the largest that a disk may have.
const memory = 64 << 10

// newHost makes an initiator that is not logged in.
func newHost(ctx context.Context, t *setup.Target, n int, as As, channels int) (*host, error) {
	hca, err := t.Fabric.Plug(soft.HCAConfig{
		Name: fmt.Sprintf("initiator%d", n), GUID: verbs.GUID(0x0200000000000100 + n), Addr: as.Addr, CompletionVectors: channels,
	})
	if err != nil {
		return nil, err
	}
	h := &host{as: as}
	for i := range channels {
		h.procs = append(h.procs, dispatch.New(fmt.Sprintf("initiator%d.%d", n, i)))
	}
	h.device = verbs.Open(hca, h.procs[0], nil)
	if err := h.start(ctx); err != nil {
		return nil, errors.Join(err, h.close(context.WithoutCancel(ctx)))
	}
	return h, nil
}

func (h *host) start(ctx context.Context) (err error) {
	if h.port, err = miniport.New(miniport.Config{Processors: h.procs, Log: quiet}); err != nil {
		return err
	}
	h.srp = miniport.NewSRP(miniport.SRPConfig{Device: h.device})
	if h.adapter, err = h.port.AddAdapter(ctx, "srp0", h.srp); err != nil {
		return err
	}
	if h.arena, err = arena.New(memory); err != nil {
		return err
	}
	h.region, err = h.port.RegisterRegion(ctx, h.arena)
	return err
}

// try logs in and looks at the units.
func (h *host) try(ctx context.Context, patience time.Duration) (x Initiator) {
	x.ID, x.Address, x.Units = h.as.ID.String(), h.as.Addr.String(), []Unit{}
	c := miniport.TargetConfig{Address: verbs.Address{Dst: setup.Address}, Port: setup.ID, Initiator: h.as.ID}
	c.Session.ImmediateData, c.Session.AllowExternalTable = srp.DefaultImmediateData, true
	c.Session.Channels, c.Session.LoginTimeout = len(h.procs), patience
	begun := time.Now()
	path, err := h.srp.AddTarget(ctx, c, false)
	x.Login = time.Since(begun).Seconds()
	if err != nil {
		x.Error = err.Error()
		var rej *srp.RejectError
		if errors.As(err, &rej) {
			x.Refused, x.Advice = true, rej.Advice()
		}
		return x
	}
	i := path.Info()
	x.Channels, x.Credits, x.MaxITIU, x.ImmediateData = i.Channels, i.Credits, i.MaxITIULen, i.ImmediateData
	if i.Fewer != nil {
		x.Fewer = i.Fewer.Error()
	}
	units, err := h.port.Scan(ctx, h.adapter, path)
	switch {
	case err != nil:
		x.Error = err.Error()
	case len(units) == 0:
		x.Error = "logged in, and no unit is shown to it"
	}
	for _, u := range units {
		x.Units = append(x.Units, h.look(ctx, u, path))
	}
	return x
}

// look opens a unit as a disk and reads its first and its last block.
func (h *host) look(ctx context.Context, u *miniport.Unit, path *miniport.Target) (x Unit) {
	x.Identity = string(u.ID())
	for _, p := range u.Paths() {
		if p.Target() == path {
			x.LUN = p.LUN().String()
		}
	}
	d, err := disk.Open(ctx, u, h.port, disk.Options{
		Log: quiet, MaxTransfer: min(disk.DefaultMaxTransfer, path.Info().MaxTransfer),
		MaxSegments: min(disk.MaxSegments, path.Info().MaxSegments),
	})
	if err != nil {
		x.Error = err.Error()
		return x
	}
	i := d.Info()
	x.Serial, x.Size, x.Block = i.Serial, i.Size, i.LogicalBlock
	begun := time.Now()
	for _, off := range []uint64{0, i.Size - uint64(i.LogicalBlock)} {
		if err := h.read(ctx, d, off, i.LogicalBlock); err != nil {
			x.Error = err.Error()
			break
		}
	}
	x.Read = time.Since(begun).Seconds()
	if err := d.Close(ctx); err != nil && x.Error == "" {
		x.Error = err.Error()
	}
	return x
}

// read reads n bytes.
func (h *host) read(ctx context.Context, d *disk.Disk, off uint64, n uint32) error {
	q := &disk.Request{Op: disk.Read, Offset: off, Length: uint64(n), Data: []miniport.Segment{{Region: h.region, Length: n}}}
	done := make(chan struct{})
	q.Done = func(*dispatch.Frame, *disk.Request) { close(done) }
	var f dispatch.Frame
	h.procs[0].Raise(&f)
	d.Submit(&f, q)
	f.Lower()
	<-done // every request ends; the disk bounds how long it tries
	return q.Err
}

// close logs out and ends everything.
func (h *host) close(ctx context.Context) error {
	var errs []error
	if h.port != nil {
		if h.region != nil {
			h.port.DeregisterRegion(ctx, h.region)
		}
		errs = append(errs, h.port.Close(ctx))
	}
	if h.arena != nil {
		errs = append(errs, h.arena.Close())
	}
	errs = append(errs, h.device.Close(ctx))
	for _, p := range h.procs {
		p.Close()
	}
	return errors.Join(errs...)
}
