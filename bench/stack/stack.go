package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"

	"minisrp/cmd/srpd/embedded"
	"minisrp/miniport"
	"minisrp/scsi/lun/thin"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// MaxTargets bounds Config.Targets: each has an address of its own.
const MaxTargets = 1 << 16

// Config says what a stack has.
type Config struct {
	Targets    int           // 1 to MaxTargets; 0 means 1
	Units      int           // of each target, 1 to lun.MaxUnits; 0 means 1
	Processors int           // 0 means 1; targets take turns at them, and a session has a channel on each
	Store      embedded.Kind // of the units; "" means RAM
	Size       uint64        // of a unit, in bytes; 0: as embedded.DefaultSize says
	Dir        string        // of files and databases; they are not removed
	QueueSize  int           // requests that a channel has under way; 0: the session's default
	Protect    srp.Protect
}

// Stack is a running stack.
//
// Ownership: of who made it. Port and Units are anybody's until Close.
type Stack struct {
	Port       *miniport.Port
	Units      []*miniport.Unit // target by target, in the order of LUNs
	Processors []*dispatch.Processor

	fabric  *soft.Fabric
	device  *verbs.Device
	buffers []*target.Buffers // by processor
	targets []*embedded.Target
	thin    *thin.DB
}

var quiet = slog.New(slog.DiscardHandler)

// New sets a stack up. Errors: the stores', no memory, ctx's.
func New(ctx context.Context, c Config) (*Stack, error) {
	c.Targets, c.Units, c.Processors = max(1, c.Targets), max(1, c.Units), max(1, c.Processors)
	if c.Store == "" {
		c.Store = embedded.RAM
	}
	if c.Targets > MaxTargets {
		return nil, fmt.Errorf("%d targets: want 1 to %d", c.Targets, MaxTargets)
	}
	s := &Stack{fabric: soft.New(soft.Config{})}
	if err := s.start(ctx, &c); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, c *Config) error {
	for i := range c.Processors {
		s.Processors = append(s.Processors, dispatch.New(fmt.Sprintf("srp%d", i)))
	}
	for _, p := range s.Processors[:min(c.Processors, c.Targets)] {
		b, err := target.NewBuffers(ctx, p, target.DefaultBuffers, quiet)
		if err != nil {
			return err
		}
		s.buffers = append(s.buffers, b)
	}
	if c.Store == embedded.Badger {
		var err error
		if s.thin, err = thin.Open(filepath.Join(c.Dir, "thin"), thin.Options{Log: quiet}); err != nil {
			return err
		}
	}
	for i := range c.Targets {
		if err := s.startTarget(ctx, c, i); err != nil {
			return err
		}
	}
	hca, err := s.fabric.Plug(soft.HCAConfig{
		Name: "initiator", GUID: 1, Addr: netip.MustParseAddr("192.0.2.1"), CompletionVectors: c.Processors,
	})
	if err != nil {
		return err
	}
	s.device = verbs.Open(hca, s.Processors[0], nil)
	return s.login(ctx, c)
}

// address returns that of target i.
func address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 5555)
}

func (s *Stack) startTarget(ctx context.Context, c *Config, i int) error {
	at := i % c.Processors
	ec := embedded.Config{
		Fabric: s.fabric, Processor: s.Processors[at], Buffers: s.buffers[at], Log: quiet,
		Name: fmt.Sprintf("target%d", i), Addr: address(i), IDExt: uint64(i + 1), GUID: verbs.GUID(i + 2), Credits: c.QueueSize,
		Thin: func() (*thin.DB, error) { return s.thin, nil },
	}
	for n := range c.Units {
		name := fmt.Sprintf("disk%d-%d", i, n)
		ec.Units = append(ec.Units, embedded.Unit{
			Serial: name, Store: c.Store, Size: c.Size, Name: name, Path: filepath.Join(c.Dir, name+".img"),
		})
	}
	t, err := embedded.Start(ctx, ec)
	if err != nil {
		return err
	}
	s.targets = append(s.targets, t)
	return nil
}

// login logs in to every target and looks for its units.
func (s *Stack) login(ctx context.Context, c *Config) error {
	var err error
	if s.Port, err = miniport.New(miniport.Config{Processors: s.Processors, Log: quiet}); err != nil {
		return err
	}
	m := miniport.NewSRP(miniport.SRPConfig{Device: s.device, Protect: c.Protect})
	a, err := s.Port.AddAdapter(ctx, "srp0", m)
	if err != nil {
		return err
	}
	for i, t := range s.targets {
		tc := miniport.TargetConfig{
			Address: verbs.Address{Dst: address(i)}, Port: t.ID(), Initiator: srp.IOClassR16a.PortID(0, 1),
		}
		tc.Session.Channels, tc.Session.QueueSize = c.Processors, c.QueueSize
		tc.Session.ImmediateData = srp.DefaultImmediateData
		tc.Session.AllowExternalTable = true
		path, err := m.AddTarget(ctx, tc, false)
		if err != nil {
			return fmt.Errorf("target %d: %w", i, err)
		}
		units, err := s.Port.Scan(ctx, a, path)
		if err != nil {
			return fmt.Errorf("target %d: %w", i, err)
		}
		if len(units) != c.Units {
			return fmt.Errorf("target %d shows %d units, it has %d", i, len(units), c.Units)
		}
		s.Units = append(s.Units, units...)
	}
	return nil
}

// Attr returns what the initiator's HCA can have.
func (s *Stack) Attr() *verbs.DeviceAttr { return s.device.Attr() }

// Close ends everything.
func (s *Stack) Close(ctx context.Context) error {
	var errs []error
	if s.Port != nil {
		errs = append(errs, s.Port.Close(ctx))
	}
	for _, t := range s.targets {
		errs = append(errs, t.Close(ctx))
	}
	if s.device != nil {
		errs = append(errs, s.device.Close(ctx))
	}
	if s.thin != nil {
		errs = append(errs, s.thin.Close(ctx))
	}
	for _, b := range s.buffers {
		errs = append(errs, b.Close(ctx))
	}
	for _, p := range s.Processors {
		p.Close()
	}
	return errors.Join(errs...)
}
