package target_test

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	portAddr  = netip.MustParseAddrPort("192.0.2.2:5555")
	initiator = srp.IOClassR16a.PortID(1, 2)
	portID    = srp.IOClassR16a.PortID(3, 4)
)

const (
	hostMem   = 32 << 20
	testBlock = 512
	testSize  = 16 << 20
)

// world is a fabric with an initiator's HCA and a target port, all on one manual processor: nothing happens at Dispatch
// unless the test runs it.
type world struct {
	t      testing.TB
	p      *dispatch.Processor
	fabric *soft.Fabric
	init   *host
	dev    *verbs.Device // the target's
	port   *target.Port
	units  []*lun.Unit

	events []srp.ChannelEvent
	downs  int
}

// host is an initiator's HCA with memory.
type host struct {
	dev *verbs.Device
	pd  *verbs.PD
	a   *arena.Arena
	mr  *verbs.MR
	mem []byte
}

func newWorld(t testing.TB, cfg target.Config, fault soft.Fault) *world {
	return newWorldOf(t, cfg, fault, hostMem)
}

// newWorldOf is newWorld with a size for the initiator's memory.
func newWorldOf(t testing.TB, cfg target.Config, fault soft.Fault, mem int) *world {
	w := &world{t: t, p: dispatch.NewManual("test"), fabric: soft.New(soft.Config{Fault: fault})}
	w.init = w.newHost("192.0.2.1", mem)
	w.dev = w.open("192.0.2.2")
	cfg.Device, cfg.Processor, cfg.ID = w.dev, w.p, portID
	w.drive(func() {
		var err error
		if w.port, err = target.New(context.Background(), cfg); err == nil {
			err = w.port.Listen(context.Background(), verbs.Address{Dst: portAddr})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(w.close)
	return w
}

func (w *world) open(addr string) *verbs.Device {
	hca, err := w.fabric.Plug(soft.HCAConfig{Name: addr, GUID: 1, Addr: netip.MustParseAddr(addr)})
	if err != nil {
		w.t.Fatal(err)
	}
	return verbs.Open(hca, w.p, nil)
}

func (w *world) newHost(addr string, mem int) *host {
	h := &host{dev: w.open(addr)}
	var err error
	if h.a, err = arena.New(mem); err != nil {
		w.t.Fatal(err)
	}
	h.mem = h.a.Bytes()
	w.drive(func() {
		h.pd = result(w.t, h.dev.CreatePD)
		access := verbs.LocalWrite | verbs.BindMW | verbs.RemoteRead | verbs.RemoteWrite
		h.mr = result(w.t, func(op *verbs.Op[*verbs.MR]) { h.pd.RegisterMR(op, &verbs.MRAttr{Arena: h.a, Access: access}) })
	})
	return h
}

func result[T any](t testing.TB, start func(op *verbs.Op[T])) T {
	op := new(verbs.Op[T])
	start(op)
	v, err := op.Wait(context.Background())
	if err != nil {
		t.Error(err)
	}
	return v
}

// drive runs fn, which waits, while the processor runs.
func (w *world) drive(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	w.p.RunUntil(done)
}

// at runs fn at Dispatch, and then until nothing is left to do.
func (w *world) at(fn func(f *dispatch.Frame)) {
	var f dispatch.Frame
	w.p.Raise(&f)
	fn(&f)
	f.Lower()
	w.p.RunUntilIdle()
}

// until runs the processor until cond holds.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // much longer than it takes, on a machine that does other things too
	for !cond() {
		w.p.RunUntilIdle()
		runtime.Gosched()
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (w *world) close() {
	w.drive(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := w.port.Close(ctx); err != nil {
			w.t.Error(err)
		}
		for _, u := range w.units {
			if err := u.Close(ctx); err != nil {
				w.t.Error(err)
			}
		}
		result(w.t, w.init.mr.Close)
		result(w.t, w.init.pd.Close)
		for _, d := range []*verbs.Device{w.init.dev, w.dev} {
			if err := d.Close(ctx); err != nil {
				w.t.Error(err)
			}
		}
		w.init.a.Close()
	})
}

// attach shows a unit of the store at LUN n.
func (w *world) attach(n int, s lun.Store) *lun.Unit {
	w.t.Helper()
	u, err := lun.NewUnit(w.p, lun.Config{Store: s, Serial: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.units = append(w.units, u)
	w.drive(func() {
		if err := w.port.Attach(context.Background(), n, u); err != nil {
			w.t.Fatal(err)
		}
	})
	return u
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ram() lun.Store { return must(lun.NewRAM(testSize, testBlock)) }

// config is what a session of the world is made with.
func (w *world) config() *srp.SessionConfig {
	return &srp.SessionConfig{
		Device: w.init.dev, PD: w.init.pd, Address: verbs.Address{Dst: portAddr}, Initiator: initiator, Target: portID,
		Processors: []*dispatch.Processor{w.p}, LogoutTimeout: time.Second,
		Event: func(f *dispatch.Frame, c *srp.Channel, e *srp.ChannelEvent) {
			if e.Kind == srp.EventDown {
				w.downs++
			}
			w.events = append(w.events, *e)
		},
	}
}

// tryLogin logs in. The session is logged out at the end of the test, before the port is closed.
func (w *world) tryLogin(cfg *srp.SessionConfig) (s *srp.Session, err error) {
	w.drive(func() { s, err = srp.Login(context.Background(), cfg) })
	if err == nil {
		w.t.Cleanup(func() { w.logout(s) })
	}
	return s, err
}

func (w *world) logout(s *srp.Session) {
	if s.Info().Credits < 0 {
		return
	}
	s.Info().Credits = -1 // done
	w.drive(func() {
		if err := s.Logout(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) login(cfg *srp.SessionConfig) *srp.Session {
	w.t.Helper()
	s, err := w.tryLogin(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// segment is n bytes of the initiator's memory.
func (h *host) segment(off, n int) srp.Segment {
	return srp.Segment{
		Addr: h.a.Addr() + uint64(off), Length: uint32(n), LKey: h.mr.LKey(), RKey: h.mr.RKey(), Mem: h.mem[off : off+n : off+n],
	}
}

// request is a Request that counts how often it ended.
type request struct {
	srp.Request
	w    *world
	done int
}

// newRequest makes a request for LUN n.
func (w *world) newRequest(n uint8, cdb []byte, d srp.Direction, segs ...srp.Segment) *request {
	r := &request{w: w}
	r.LUN, r.CDB = scsi.PeripheralLUN(n), append(make([]byte, 0, 16), cdb...)[:16]
	r.Direction, r.Segments = d, segs
	for _, s := range segs {
		r.Length += s.Length
	}
	r.Done = func(f *dispatch.Frame, _ *srp.Request) { r.done++ }
	return r
}

// start starts the request, which must work.
func (r *request) start(c *srp.Channel) *request {
	r.w.t.Helper()
	var err error
	r.w.at(func(f *dispatch.Frame) { err = c.Start(f, &r.Request) })
	if err != nil {
		r.w.t.Fatal(err)
	}
	return r
}

// end waits for the request.
func (r *request) end() *request {
	r.w.t.Helper()
	r.w.until("the end of a request", func() bool { return r.done > 0 })
	if r.done != 1 {
		r.w.t.Fatalf("a request ended %d times", r.done)
	}
	return r
}

func (r *request) good() *request {
	r.w.t.Helper()
	r.end()
	if r.Outcome != srp.Completed || r.Status != scsi.StatusGood {
		s, _ := scsi.ParseSense(r.Sense)
		r.w.t.Fatalf("%s: %v, code %v, %v, %v", scsi.CommandName(r.CDB), r.Outcome, r.Code, r.Status, s)
	}
	return r
}

func (r *request) check(key scsi.SenseKey, code scsi.ASC) *request {
	r.w.t.Helper()
	r.end()
	s, err := scsi.ParseSense(r.Sense)
	if r.Outcome != srp.Completed || r.Status != scsi.StatusCheckCondition || err != nil || s.Key != key || s.ASC != code {
		r.w.t.Fatalf("%s: %v, %v, %v; want %v: %v", scsi.CommandName(r.CDB), r.Outcome, r.Status, s, key, code)
	}
	return r
}

// rw encodes a READ or WRITE of n bytes.
func rw(write bool, lba uint64, n int) []byte {
	c := scsi.RW{Write: write, LBA: lba, Blocks: uint32(n / testBlock)}
	var b scsi.CDB
	c.Put(&b)
	return b[:srp.CDBLen]
}

// pattern fills b with bytes that no other seed gives.
func pattern(seed int, b []byte) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(b)
	return b
}

// attentions clears what a unit has to report.
func (w *world) attentions(c *srp.Channel, n uint8) {
	w.t.Helper()
	for range 10 {
		if r := w.newRequest(n, nil, srp.NoData).start(c).end(); r.Status == scsi.StatusGood {
			return
		}
	}
	w.t.Fatal("TEST UNIT READY fails again and again")
}
