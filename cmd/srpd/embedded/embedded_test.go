package embedded_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minisrp/cmd/srpd/embedded"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is a target with two file units in a directory, on a fabric and a processor of its own.
func config(t *testing.T, dir string) embedded.Config {
	t.Helper()
	p := dispatch.New("test")
	t.Cleanup(p.Close)
	return embedded.Config{
		Fabric: soft.New(soft.Config{}), Processor: p, Addr: netip.MustParseAddrPort("192.0.2.2:5555"), IDExt: 3, GUID: 4,
		Units: []embedded.Unit{
			{Serial: "a", Store: embedded.File, Size: 1 << 20, Path: filepath.Join(dir, "disk0.img")},
			{Serial: "b", Store: embedded.File, Size: 1 << 20, Path: filepath.Join(dir, "disk1.img")},
		},
	}
}

// world is a target and an initiator's HCA, which can log in.
type world struct {
	cfg    embedded.Config
	target *embedded.Target
	device *verbs.Device
	pd     *verbs.PD
}

func newWorld(t *testing.T, cfg embedded.Config) *world {
	t.Helper()
	target, err := embedded.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	hca, err := cfg.Fabric.Plug(soft.HCAConfig{Name: "initiator", GUID: 9, Addr: netip.MustParseAddr("192.0.2.1")})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{cfg: cfg, target: target, device: verbs.Open(hca, cfg.Processor, nil)}
	var op verbs.Op[*verbs.PD]
	w.device.CreatePD(&op)
	if w.pd, err = op.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		var op verbs.Op[verbs.None]
		w.pd.Close(&op)
		_, err := op.Wait(ctx)
		if err := errors.Join(err, w.target.Close(ctx), w.device.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return w
}

// login logs in at an address.
func (w *world) login(t *testing.T, at verbs.Address) (*srp.Session, error) {
	t.Helper()
	return srp.Login(t.Context(), &srp.SessionConfig{
		Device: w.device, PD: w.pd, Address: at, Initiator: srp.IOClassR16a.PortID(1, 9), Target: w.target.ID(),
		Processors: []*dispatch.Processor{w.cfg.Processor}, ImmediateData: srp.DefaultImmediateData,
	})
}

// The target is where its login string says, and at its GID too.
func TestAddresses(t *testing.T) {
	w := newWorld(t, config(t, t.TempDir()))
	o, err := srp.ParseTarget(w.target.LoginString())
	if err != nil || o.Target() != w.target.ID() {
		t.Fatalf("%s: %v", w.target.LoginString(), err)
	}
	for _, at := range []verbs.Address{
		o.Address(),
		{DGID: soft.GIDOf(w.cfg.Addr.Addr()), PKey: 0xffff, ServiceID: uint64(w.cfg.GUID)},
	} {
		s, err := w.login(t, at)
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		// The initiator knows before the target's side of the connection has come up.
		for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
			all, err := w.target.Sessions(t.Context())
			if err == nil && len(all) == 1 && all[0].Initiator == srp.IOClassR16a.PortID(1, 9) {
				break
			}
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("%s: sessions are %+v, %v", at, all, err)
			}
		}
		if err := s.Logout(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  embedded.Faults
	}{
		{nil, embedded.Faults{}},
		{[]string{"reject=0x00010003"}, embedded.Faults{Rules: "reject=0x00010003"}},
		{[]string{"reject=10006", "disabled"}, embedded.Faults{Rules: "reject=0x00010006", Disabled: true}},
		{[]string{"capacity=0"}, embedded.Faults{Empty: []int{0, 1}}},
		{[]string{"capacity=0@1"}, embedded.Faults{Empty: []int{1}}},
	} {
		if f, err := embedded.ParseFaults(c.words, 2); err != nil || !reflect.DeepEqual(f, c.want) {
			t.Errorf("%v: %+v, %v", c.words, f, err)
		}
	}
	for _, word := range []string{"", "reject", "reject=", "reject=0", "reject=1ffffffff", "capacity", "capacity=1", "capacity=0@2", "capacity=0@x", "capacity=0@-1", "disable"} {
		if _, err := embedded.ParseFaults([]string{word}, 2); !errors.Is(err, embedded.ErrFault) || !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: %v", word, err)
		}
	}
	cfg := config(t, t.TempDir())
	cfg.Faults.Rules = "reject=0x00010002"
	w := newWorld(t, cfg)
	var rej *srp.RejectError
	if _, err := w.login(t, verbs.Address{Dst: cfg.Addr}); !errors.As(err, &rej) || rej.Reason != srp.RejectIUTooLarge {
		t.Errorf("%v", err)
	}
}

// A store that cannot be had is named, and what was opened before it is closed again.
func TestStores(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	sized := func(n uint64) { cfg.Units[0].Size, cfg.Units[1].Size = n, n }
	run := func(c embedded.Config) error {
		target, err := embedded.Start(t.Context(), c)
		if err == nil {
			err = target.Close(t.Context())
		}
		return err
	}
	if err := run(cfg); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(dir, "disk1.img")); err != nil || st.Size() != 1<<20 {
		t.Fatalf("%v, %v", st, err)
	}
	sized(0)
	if err := run(cfg); err != nil {
		t.Errorf("as they are: %v", err)
	}
	sized(2 << 20)
	var store *embedded.StoreError
	if err := run(cfg); !errors.As(err, &store) || store.LUN != 0 || !errors.Is(err, lun.ErrGeometry) {
		t.Errorf("in another size: %v", err)
	}
	sized(1 << 20)
	held, err := lun.OpenFile(filepath.Join(dir, "disk1.img"), lun.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(cfg); !errors.As(err, &store) || store.LUN != 1 || !errors.Is(err, lun.ErrInUse) || !strings.Contains(err.Error(), "disk1.img") {
		t.Errorf("held by another: %v", err)
	}
	if err := held.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := run(cfg); err != nil {
		t.Errorf("let go: %v", err)
	}
	for _, c := range []struct {
		kind embedded.Kind
		size uint64
		err  error
	}{{embedded.RAM, 1 << 20, nil}, {embedded.Null, 1 << 40, nil}, {embedded.RAM, 1 << 50, embedded.ErrMemory}, {"tape", 1 << 20, lun.ErrConfig}} {
		cfg.Units = []embedded.Unit{{Serial: "a", Store: c.kind, Size: c.size}}
		if err := run(cfg); !errors.Is(err, c.err) {
			t.Errorf("%s of %d bytes: %v", c.kind, c.size, err)
		}
	}
}
