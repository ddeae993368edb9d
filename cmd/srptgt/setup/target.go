package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// Target is a running target, on a fabric of this process.
//
// Ownership: made by Start, ended by Close of the same caller. What Start has set is not changed afterwards.
type Target struct {
	Fabric    *soft.Fabric
	Processor *dispatch.Processor
	Port      *target.Port
	Rules     *fault.Rules
	Notes     map[string]string // by unit: what is not as it would be

	device *verbs.Device
	units  map[string]*lun.Unit
}

// Where the target is on its fabric.
var (
	Address = netip.MustParseAddrPort("192.0.2.1:5555")
	ID      = srp.IOClassR16a.PortID(0x0200000000000001, 0x0200000000000001)
)

// Start makes the target and its units, and listens. It checks c first. Errors: Problems, *StoreError, those of package
// target.
func Start(ctx context.Context, c Config) (*Target, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	t := &Target{
		Fabric: soft.New(soft.Config{}), Processor: dispatch.New("target"),
		Notes: map[string]string{}, units: map[string]*lun.Unit{},
	}
	if err := t.start(ctx, &c); err != nil {
		return nil, errors.Join(err, t.Close(context.WithoutCancel(ctx)))
	}
	return t, nil
}

func (t *Target) start(ctx context.Context, c *Config) (err error) {
	if t.Rules, err = fault.Parse(strings.Join(c.Faults, ";")); err != nil {
		return err
	}
	for i := range c.Units {
		if err := t.makeUnit(ctx, &c.Units[i]); err != nil {
			return &StoreError{c.Units[i].Name, err}
		}
	}
	hca, err := t.Fabric.Plug(soft.HCAConfig{Name: "target", GUID: 1, Addr: Address.Addr()})
	if err != nil {
		return err
	}
	t.device = verbs.Open(hca, t.Processor, nil)
	t.Port, err = target.New(ctx, target.Config{
		Device: t.device, Processor: t.Processor, ID: ID,
		Credits: c.Credits, MaxIU: c.MaxIU, ChannelsPerNexus: c.ChannelsPerInitiator,
		Closed: c.Closed, StrictChannels: c.StrictChannels, LikeLinux: c.LikeLinux, Faults: t.Rules, Log: c.Log,
	})
	if err != nil {
		return err
	}
	groups := map[string]*target.Group{}
	for _, g := range c.Groups {
		if groups[g.Name], err = t.Port.AddGroup(ctx, target.GroupConfig{Name: g.Name, Initiators: g.Initiators}); err != nil {
			return err
		}
	}
	for _, l := range c.luns() {
		attach := t.Port.Attach
		if l.Group != "" {
			attach = groups[l.Group].Attach
		}
		if err := attach(ctx, l.Number, t.units[l.Unit]); err != nil {
			return fmt.Errorf("LUN %s: %w", l, err)
		}
	}
	return t.Port.Listen(ctx, verbs.Address{Dst: Address})
}

// makeUnit opens a store and makes the unit on it.
func (t *Target) makeUnit(ctx context.Context, u *Unit) error {
	s, err := t.open(u)
	if err != nil {
		return err
	}
	unit, err := lun.NewUnit(t.Processor, lun.Config{Store: s, Serial: u.serial(), ReadOnly: u.Kind == File})
	if err != nil {
		return errors.Join(err, s.Close(ctx))
	}
	t.units[u.Name] = unit
	return nil
}

// open opens a store. It makes no file and takes no memory: what forgets stands in for those.
func (t *Target) open(u *Unit) (lun.Store, error) {
	block := u.BlockSize
	if block == 0 {
		block = lun.MinBlockSize
	}
	if u.Kind == File {
		_, err := os.Stat(u.Path)
		if !errors.Is(err, fs.ErrNotExist) || u.Size == 0 {
			t.Notes[u.Name] = "write protected while it is checked"
			return lun.OpenFile(u.Path, lun.FileOptions{Size: u.Size, BlockSize: block})
		}
		t.Notes[u.Name] = "the file is not there yet; an empty unit of its size stands in for it"
	}
	if u.Kind == RAM {
		t.Notes[u.Name] = "no memory is taken for it; an empty unit of its size stands in for it"
	}
	return lun.NewNull(u.Size, block)
}

// Close logs initiators out, closes units and stores, and ends the processor. When ctx ends first it returns ctx's
// error, and the rest is left as it is.
func (t *Target) Close(ctx context.Context) error {
	if t.Port != nil {
		if err := t.Port.Close(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for name, u := range t.units {
		if err := u.Close(ctx); err != nil {
			errs = append(errs, &StoreError{name, err})
		}
	}
	if t.device != nil {
		errs = append(errs, t.device.Close(ctx))
	}
	t.Processor.Close()
	return errors.Join(errs...)
}
