package providertest

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Options say how two ends are made; the zero value means what most tests want.
type Options struct {
	QPAccess verbs.Access // 0: remote read and write
	MRAccess verbs.Access // 0: everything
	Manual   bool         // processors without goroutines, and fake time
	Two      bool         // a processor for each end

	MaxSend, MaxRecv uint32 // 0: 16
	Entries          uint32 // of each CQ; 0: 64
	RNRTimer         time.Duration
	Memory           int // bytes of each end; 0: 1 MiB

	rnrRetry uint8
	rnrSet   bool
}

// Everything is what a region can allow.
const Everything = verbs.LocalWrite | verbs.RemoteRead | verbs.RemoteWrite | verbs.BindMW

// WithRNRRetry sets both ends' count of RNR retries to n, rather than to 7, for ever.
func (o Options) WithRNRRetry(n uint8) Options {
	o.rnrRetry, o.rnrSet = n, true
	return o
}

func (o Options) defaults() Options {
	set := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	if o.QPAccess == 0 {
		o.QPAccess = verbs.RemoteRead | verbs.RemoteWrite
	}
	if o.QPAccess == NoAccess {
		o.QPAccess = 0
	}
	if o.MRAccess == 0 {
		o.MRAccess = Everything
	}
	set(&o.MaxSend, 16)
	set(&o.MaxRecv, 16)
	set(&o.Entries, 64)
	if !o.rnrSet {
		o.rnrRetry = 7
	}
	if o.Memory == 0 {
		o.Memory = 1 << 20
	}
	return o
}

// NoAccess as Options.QPAccess means none.
const NoAccess verbs.Access = 0x80

// End is one side of a connection: a device with one of everything.
type End struct {
	*World
	P        *dispatch.Processor
	Dev      *verbs.Device
	PD       *verbs.PD
	SCQ, RCQ *verbs.CQ
	QP       *verbs.QP
	MR       *verbs.MR
	Mem      []byte
	Base     uint64
	Events   []verbs.QPEvent // of QP
	Notified int             // of RCQ

	arena *arena.Arena
	opts  Options
	made  []closable
}

type closable interface {
	Close(*verbs.Op[verbs.None])
}

// NewEnd opens a device and makes an end of it, which is closed with the test.
func NewEnd(w *World, i int, drv verbs.Driver, o Options) *End {
	w.T.Helper()
	o = o.defaults()
	e := &End{World: w, P: w.Procs[i%len(w.Procs)], opts: o}
	e.Dev = verbs.Open(drv, e.P, nil)
	e.PD = Do(w, e.Dev.CreatePD)
	e.made = append(e.made, e.PD)
	e.SCQ = Do(w, func(op *verbs.Op[*verbs.CQ]) {
		e.Dev.CreateCQ(op, &verbs.CQAttr{Entries: o.Entries, Processor: e.P})
	})
	e.RCQ = Do(w, func(op *verbs.Op[*verbs.CQ]) {
		e.Dev.CreateCQ(op, &verbs.CQAttr{Entries: o.Entries, Processor: e.P, Notify: func(*dispatch.Frame, *verbs.CQ) { e.Notified++ }})
	})
	e.made = append(e.made, e.SCQ, e.RCQ)
	a, err := arena.New(o.Memory)
	if err != nil {
		w.T.Fatal(err)
	}
	e.arena, e.Mem, e.Base = a, a.Bytes(), a.Addr()
	e.MR = e.Register(o.MRAccess)
	e.QP = e.NewQP()
	w.T.Cleanup(e.close)
	return e
}

// NewQP makes another QP like the end's.
func (e *End) NewQP() *verbs.QP {
	e.T.Helper()
	o := e.opts
	qp := Do(e.World, func(op *verbs.Op[*verbs.QP]) {
		e.PD.CreateQP(op, &verbs.QPAttr{
			SendCQ: e.SCQ, RecvCQ: e.RCQ, MaxSend: o.MaxSend, MaxRecv: o.MaxRecv, MaxSGE: verbs.MaxSGE,
			Access: o.QPAccess, RNRTimer: o.RNRTimer,
			Event: func(f *dispatch.Frame, qp *verbs.QP, ev verbs.QPEvent) {
				if qp == e.QP {
					e.Events = append(e.Events, ev)
				}
			},
		})
	})
	e.made = append(e.made, qp)
	return qp
}

// Register registers the end's memory with rights.
func (e *End) Register(a verbs.Access) *verbs.MR {
	e.T.Helper()
	mr := Do(e.World, func(op *verbs.Op[*verbs.MR]) { e.PD.RegisterMR(op, &verbs.MRAttr{Arena: e.arena, Access: a}) })
	e.made = append(e.made, mr)
	return mr
}

// Window allocates a window.
func (e *End) Window() *verbs.MW {
	e.T.Helper()
	mw := Do(e.World, e.PD.AllocMW)
	e.made = append(e.made, mw)
	return mw
}

// close closes parents first, which is legal.
func (e *End) close() {
	for _, o := range e.made {
		op := new(verbs.Op[verbs.None])
		o.Close(op)
		op.Forget()
	}
	e.CloseDevice(e.Dev)
	e.arena.Close()
}

// Plug makes the drivers of two HCAs of one fabric, at Addr(0) and Addr(1).
type Plug func(t testing.TB) (a, b verbs.Driver)

// Pair makes two connected ends.
func Pair(t testing.TB, plug Plug, o Options) (a, b *End) {
	t.Helper()
	n := 1
	if o.Two {
		n = 2
	}
	w := NewWorld(t, n, o.Manual)
	da, db := plug(t)
	a, b = NewEnd(w, 0, da, o), NewEnd(w, 1, db, o)
	Connect(a, b)
	return a, b
}

// Another replaces the ends' QPs by a second connected pair, and returns the first.
func Another(a, b *End) (qa, qb *verbs.QP) {
	a.T.Helper()
	qa, qb = a.QP, b.QP
	a.QP, b.QP = a.NewQP(), b.NewQP()
	Connect(a, b)
	return qa, qb
}

// Connect connects the QPs of two ends.
func Connect(a, b *End) {
	a.T.Helper()
	o := a.opts
	addr := verbs.Address{Dst: netip.AddrPortFrom(Addr(1), 5555)}
	var acc verbs.Op[verbs.None]
	var private []byte
	var acceptErr error
	accepted := make(chan struct{})
	l := Do(a.World, func(op *verbs.Op[*verbs.Listener]) {
		b.Dev.Listen(op, &verbs.ListenAttr{Address: addr, Processor: b.P, Request: func(f *dispatch.Frame, l *verbs.Listener, r *verbs.ConnectRequest) {
			private = r.Private()
			b.QP.Accept(&acc, &verbs.AcceptAttr{Request: r, Private: []byte("welcome"), RNRRetry: o.rnrRetry})
			acc.Then(func(f *dispatch.Frame, _ verbs.None, err error) {
				acceptErr = err
				close(accepted)
			})
		}})
	})
	r := Do(a.World, func(op *verbs.Op[verbs.ConnectReply]) {
		a.QP.Connect(op, &verbs.ConnectAttr{Address: addr, Private: []byte("hello"), RetryCount: 7, RNRRetry: o.rnrRetry})
	})
	if string(r.Private()) != "welcome" {
		a.T.Errorf("reply's private data %q", r.Private())
	}
	a.Await(accepted)
	if acceptErr != nil || string(private) != "hello" {
		a.T.Errorf("accept of a request with %q: %v", private, acceptErr)
	}
	a.World.Close(l)
}

// Both runs a test with one processor and with two.
func Both(t *testing.T, fn func(t *testing.T, o Options)) {
	t.Helper()
	t.Run("one processor", func(t *testing.T) { fn(t, Options{}) })
	t.Run("two processors", func(t *testing.T) { fn(t, Options{Two: true}) })
}

// At runs fn at Dispatch, owning the end's processor, and returns when it has run
// and, with manual processors, everything that it started.
func (e *End) At(fn func(f *dispatch.Frame)) {
	e.T.Helper()
	done := make(chan struct{})
	var d dispatch.DPC
	d.Init(e.P, func(f *dispatch.Frame) { fn(f); close(done) })
	d.Post()
	e.Await(done)
}

// Post posts requests that must all be accepted.
func (e *End) Post(wrs ...verbs.WR) {
	e.T.Helper()
	var n int
	var err error
	e.At(func(f *dispatch.Frame) { n, err = e.QP.Post(f, wrs) })
	if n != len(wrs) || err != nil {
		e.T.Errorf("posted %d of %d: %v", n, len(wrs), err)
	}
}

// Recv posts a receive of the pieces.
func (e *End) Recv(id uint64, pieces ...verbs.SGE) {
	e.T.Helper()
	r := verbs.RecvWR{ID: id, NumSGE: uint8(len(pieces))}
	copy(r.SGE[:], pieces)
	var n int
	var err error
	e.At(func(f *dispatch.Frame) { n, err = e.QP.PostRecv(f, []verbs.RecvWR{r}) })
	if n != 1 || err != nil {
		e.T.Errorf("posted %d receives: %v", n, err)
	}
}

// Piece names n bytes at off of the end's memory.
func (e *End) Piece(off, n int) verbs.SGE {
	return verbs.SGE{Addr: e.Base + uint64(off), Length: uint32(n), LKey: e.MR.LKey()}
}

// WR makes a signaled request with a list of pieces.
func WR(id uint64, op verbs.Opcode, pieces ...verbs.SGE) verbs.WR {
	wr := verbs.WR{ID: id, Op: op, Flags: verbs.Signaled, NumSGE: uint8(len(pieces))}
	copy(wr.SGE[:], pieces)
	return wr
}

// RDMA makes a signaled Write or Read of n bytes between off of e and to of the
// peer, under a key.
func (e *End) RDMA(id uint64, op verbs.Opcode, off, n int, peer *End, to int, key uint32) verbs.WR {
	wr := WR(id, op, e.Piece(off, n))
	wr.RemoteAddr, wr.Key = peer.Base+uint64(to), key
	return wr
}

// Bind makes a signaled request that binds a window to n bytes at off.
func (e *End) Bind(id uint64, mw *verbs.MW, key uint32, off, n int, access verbs.Access) verbs.WR {
	wr := WR(id, verbs.BindWindow, e.Piece(off, n))
	wr.MW, wr.Key, wr.Access = mw.Handle(), key, access
	return wr
}

// Inv makes a signaled LOCAL_INV.
func Inv(id uint64, key uint32) verbs.WR {
	wr := WR(id, verbs.LocalInv)
	wr.Key = key
	return wr
}

// Sent waits for n completions of the send queue.
func (e *End) Sent(n int) []verbs.WC { e.T.Helper(); return e.collect(e.SCQ, n) }

// Received waits for n completions of the receive queue.
func (e *End) Received(n int) []verbs.WC { e.T.Helper(); return e.collect(e.RCQ, n) }

func (e *End) collect(cq *verbs.CQ, n int) (got []verbs.WC) {
	e.T.Helper()
	deadline := time.Now().Add(Patience)
	for len(got) < n {
		e.Settle()
		e.At(func(f *dispatch.Frame) {
			wcs := make([]verbs.WC, n-len(got))
			got = append(got, wcs[:cq.Poll(f, wcs)]...)
		})
		if len(got) < n && (e.manual || time.Now().After(deadline)) {
			e.T.Fatalf("%d completions of %d: %+v", len(got), n, got)
		}
		runtime.Gosched()
	}
	return got
}

// Idle demands that neither CQ has a completion now. With processors that have
// goroutines, something must have told that all is over.
func (e *End) Idle() {
	e.T.Helper()
	e.Settle()
	var sent, got [4]verbs.WC
	var n, m int
	e.At(func(f *dispatch.Frame) {
		n = e.SCQ.Poll(f, sent[:])
		m = e.RCQ.Poll(f, got[:])
	})
	if n+m != 0 {
		e.T.Errorf("unexpected completions of sends %+v and of receives %+v", sent[:n], got[:m])
	}
}

// Want compares a completion with what it must be.
func (e *End) Want(got verbs.WC, id uint64, op verbs.Opcode, s verbs.Status) {
	e.T.Helper()
	if got.ID != id || got.Op != op || got.Status != s || got.QPN != e.QP.Num() {
		e.T.Errorf("completion %d of %s: %s, on QP %#x; want %d of %s: %s, on %#x",
			got.ID, got.Op, got.Status, got.QPN, id, op, s, e.QP.Num())
	}
}

// EventsNow returns the QP's events so far.
func (e *End) EventsNow() (evs []verbs.QPEvent) {
	e.T.Helper()
	e.At(func(*dispatch.Frame) { evs = append(evs, e.Events...) })
	return evs
}

// AwaitEvent waits until the QP has had an event.
func (e *End) AwaitEvent(ev verbs.QPEvent) {
	e.T.Helper()
	deadline := time.Now().Add(Patience)
	for {
		for _, got := range e.EventsNow() {
			if got == ev {
				return
			}
		}
		if time.Now().After(deadline) {
			e.T.Fatalf("no event %q; had %v", ev, e.Events)
		}
		runtime.Gosched()
	}
}

// Fill writes a pattern that depends on seed.
func Fill(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i*7) ^ byte(i>>8) ^ seed
	}
}
