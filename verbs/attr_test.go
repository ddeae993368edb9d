package verbs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
	"minisrp/verbs/verbstest"
)

func fakeEnd(t *testing.T) (*verbstest.Fake, *pt.End) {
	d := verbstest.NewFake("fake0")
	return d, pt.NewEnd(pt.NewWorld(t, 1, true), 0, d, pt.Options{Manual: true})
}

// The states of IBA 10.3.1 for reliable connections, and which a consumer may ask
// for: everything else is refused.
func TestTransitions(t *testing.T) {
	const table = `
		RESET RESET INIT
		INIT  RESET INIT RTR ERR
		RTR   RESET RTS ERR
		RTS   RESET RTS ERR
		SQE   RESET RTS ERR
		ERR   RESET ERR`
	allowed := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		f := strings.Fields(line)
		for _, to := range f[1:] {
			allowed[f[0]+" "+to] = true
		}
	}
	for from := range verbs.QPState(8) {
		for to := range verbs.QPState(8) {
			if got, want := from.CanGo(to), allowed[from.String()+" "+to.String()]; got != want {
				t.Errorf("%s to %s: %v; want %v", from, to, got, want)
			}
		}
	}
}

// Attributes out of range are refused by the package, with what is wrong, before any
// provider sees them.
func TestInvalidAttributes(t *testing.T) {
	_, e := fakeEnd(t)
	other := verbs.Open(verbstest.NewFake("fake1"), e.P, nil)
	defer e.CloseDevice(other)
	cq := func(d *verbs.Device, p *dispatch.Processor) *verbs.CQ {
		c := pt.Do(e.World, func(op *verbs.Op[*verbs.CQ]) { d.CreateCQ(op, &verbs.CQAttr{Entries: 1, Processor: p}) })
		t.Cleanup(func() { e.World.Close(c) })
		return c
	}
	second := dispatch.NewManual("second")
	e.Procs = append(e.Procs, second)
	foreign, elsewhere := cq(other, e.P), cq(e.Dev, second)
	defer e.World.Close(foreign)
	qp := func(change func(a *verbs.QPAttr)) func() error {
		a := &verbs.QPAttr{SendCQ: e.SCQ, RecvCQ: e.RCQ, MaxSend: 1, MaxRecv: 1, MaxSGE: 1}
		change(a)
		return func() error {
			_, err := pt.Try(e.World, func(op *verbs.Op[*verbs.QP]) { e.PD.CreateQP(op, a) })
			return err
		}
	}
	newCQ := func(a verbs.CQAttr) func() error {
		return func() error {
			_, err := pt.Try(e.World, func(op *verbs.Op[*verbs.CQ]) { e.Dev.CreateCQ(op, &a) })
			return err
		}
	}
	gone, err := arena.New(1)
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	mr := func(a verbs.MRAttr) func() error {
		return func() error {
			_, err := pt.Try(e.World, func(op *verbs.Op[*verbs.MR]) { e.PD.RegisterMR(op, &a) })
			return err
		}
	}
	listen := func(a verbs.ListenAttr) func() error {
		return func() error {
			_, err := pt.Try(e.World, func(op *verbs.Op[*verbs.Listener]) { e.Dev.Listen(op, &a) })
			return err
		}
	}
	some, err := arena.New(1)
	if err != nil {
		t.Fatal(err)
	}
	defer some.Close()
	for want, try := range map[string]func() error{
		"without completion queues":      qp(func(a *verbs.QPAttr) { a.SendCQ = nil }),
		"of another device":              qp(func(a *verbs.QPAttr) { a.SendCQ, a.RecvCQ = foreign, foreign }),
		"of two processors":              qp(func(a *verbs.QPAttr) { a.RecvCQ = elsewhere }),
		"queues of 0 and 1 requests":     qp(func(a *verbs.QPAttr) { a.MaxSend = 0 }),
		"queues of 1 and 16385 requests": qp(func(a *verbs.QPAttr) { a.MaxRecv = 1<<14 + 1 }),
		"5 pieces a request":             qp(func(a *verbs.QPAttr) { a.MaxSGE = verbs.MaxSGE + 1 }),
		"rights 0x9 of a QP":             qp(func(a *verbs.QPAttr) { a.Access = verbs.BindMW | verbs.LocalWrite }),
		"an RNR timer of 655360001 ns":   qp(func(a *verbs.QPAttr) { a.RNRTimer = 655360*time.Microsecond + 1 }),
		"a CQ of 0 entries":              newCQ(verbs.CQAttr{Processor: e.P}),
		"a CQ of 65537 entries":          newCQ(verbs.CQAttr{Entries: 1<<16 + 1, Processor: e.P}),
		"a CQ without a processor":       newCQ(verbs.CQAttr{Entries: 1}),
		"completion vector -1":           newCQ(verbs.CQAttr{Entries: 1, Vector: -1, Processor: e.P}),
		"completion vector 1":            newCQ(verbs.CQAttr{Entries: 1, Vector: 1, Processor: e.P}),
		"no arena to register":           mr(verbs.MRAttr{Arena: gone}),
		"without local write":            mr(verbs.MRAttr{Arena: some, Access: verbs.RemoteWrite}),
		"rights 0x80 of a region":        mr(verbs.MRAttr{Arena: some, Access: 0x80}),
		"without a processor":            listen(verbs.ListenAttr{}),
		"without a request function":     listen(verbs.ListenAttr{Processor: e.P}),
	} {
		err := try()
		var oe *verbs.OpError
		if !errors.Is(err, verbs.ErrInvalid) || !errors.As(err, &oe) || oe.Object != "fake0" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// A device without windows says so.
func TestNoWindows(t *testing.T) {
	d := verbstest.NewFake("plain")
	d.Limits().MemoryWindows = false
	e := pt.NewEnd(pt.NewWorld(t, 1, true), 0, d, pt.Options{Manual: true})
	if _, err := pt.Try(e.World, e.PD.AllocMW); !errors.Is(err, verbs.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

// An operation on what is being closed is refused, and so is a second close.
func TestClosed(t *testing.T) {
	_, e := fakeEnd(t)
	pd := pt.Do(e.World, e.Dev.CreatePD)
	e.World.Close(pd)
	for what, try := range map[string]func() error{
		"close":       func() error { _, err := pt.Try(e.World, pd.Close); return err },
		"allocate MW": func() error { _, err := pt.Try(e.World, pd.AllocMW); return err },
	} {
		if err := try(); !errors.Is(err, verbs.ErrClosed) || !strings.HasPrefix(err.Error(), what+" fake0: ") {
			t.Errorf("%v; want %s refused", err, what)
		}
	}
}

// Device.Close says what it waits for when its context ends, and can be called again.
func TestDeviceCloseWaits(t *testing.T) {
	p := dispatch.New("p")
	defer p.Close()
	dev := verbs.Open(verbstest.NewFake("fake0"), p, nil)
	var op verbs.Op[*verbs.PD]
	dev.CreatePD(&op)
	pd, err := op.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := dev.Close(over); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "close fake0: 1 objects are still open") {
		t.Errorf("%v", err)
	}
	// Nothing can be made of it any more.
	var late verbs.Op[*verbs.PD]
	dev.CreatePD(&late)
	if _, err := late.Wait(t.Context()); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("%v", err)
	}
	var c verbs.Op[verbs.None]
	pd.Close(&c)
	c.Forget()
	for range 2 {
		if err := dev.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// Events are told on the device's processor, each kind at least once.
func TestDeviceEvents(t *testing.T) {
	p := dispatch.NewManual("p")
	var got []verbs.Event
	dev := verbs.Open(verbstest.NewFake("fake0"), p, func(f *dispatch.Frame, e verbs.Event) {
		if !f.On(p) {
			t.Error("not on the device's processor")
		}
		got = append(got, e)
	})
	for _, e := range []verbs.Event{verbs.PortDown, verbs.PortDown, verbs.AddressChange} {
		dev.Raise(e)
	}
	p.RunUntilIdle()
	dev.Raise(verbs.DeviceFatal)
	p.RunUntilIdle()
	want := []verbs.Event{verbs.PortDown, verbs.AddressChange, verbs.DeviceFatal}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%v; want %v", got, want)
	}
	done := make(chan struct{})
	go func() { defer close(done); dev.Close(context.Background()) }()
	p.RunUntil(done)
}

// Misuse of an operation is a broken invariant.
func TestOperationUsedWrongly(t *testing.T) {
	_, e := fakeEnd(t)
	panics := func(what string, use func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
		}()
		use()
	}
	op := new(verbs.Op[*verbs.PD])
	panics("taken before it was started", op.Forget)
	op = new(verbs.Op[*verbs.PD])
	e.Dev.CreatePD(op)
	panics("started twice", func() { e.Dev.CreatePD(op) })
	op.Forget()
	panics("taken twice", op.Forget)
}

// Text that users see names everything, also what is unknown.
func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		verbs.SendInv.String():                             "SEND with invalidate",
		verbs.Opcode(99).String():                          "opcode 99",
		verbs.RemAccessErr.String():                        "remote access error",
		verbs.Status(99).String():                          "status 99",
		verbs.QPState(99).String():                         "state 99",
		verbs.CQOverrun.String():                           "CQ overrun",
		verbs.DeviceRemoved.String():                       "device removed",
		verbs.RejectStale.String():                         "stale connection",
		verbs.RejectReason(34).String():                    "reason 34",
		verbs.GUID(0x2c903000e0b72).String():               "0002:c903:000e:0b72",
		(&verbs.RejectError{Reason: 28}).Error():           "connection rejected: refused by the consumer (CM REJ 28)",
		verbs.Address{PKey: 0xffff, ServiceID: 5}.String(): "dgid=0000:0000:0000:0000:0000:0000:0000:0000,pkey=ffff,service_id=0000000000000005",
	} {
		if got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
