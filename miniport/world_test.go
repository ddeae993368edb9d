package miniport

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/access"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// world is the SRP miniport with a target port on a fabric in software, in a bubble of
// its own time.
type world struct {
	t      *testing.T
	procs  []*dispatch.Processor
	fabric *soft.Fabric
	tdev   *verbs.Device
	idev   *verbs.Device
	peer   *target.Port
	gates  []*luntest.Gate
	stores []*lun.RAM
	peers  []*lun.Unit

	port    *Port
	srp     *SRP
	adapter *Adapter
	target  *Target // the first that is logged in to
	units   []*Unit
	memory  *Region
	logged  *logBook

	mu    sync.Mutex
	found []*Unit
	moved int // calls of UnitChanged
}

type worldConfig struct {
	procs   int // 0: 1
	units   int // 0: 1
	protect srp.Protect
	target  func(c *target.Config)
	session func(c *srp.SessionConfig)
	alone   bool // log in to nothing
}

const (
	worldBlocks = 1 << 13 // of a unit
	worldMemory = 8 << 20
)

var (
	worldAddr   = netip.MustParseAddrPort("192.0.2.10:5555")
	worldTarget = srp.IOClassR16a.PortID(3, 4)
	worldIniti  = srp.IOClassR16a.PortID(1, 2)
)

// inWorld runs a test in a world.
func inWorld(t *testing.T, c worldConfig, fn func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, c)
		defer w.close()
		fn(t, w)
	})
}

func newWorld(t *testing.T, c worldConfig) *world {
	w := &world{t: t, fabric: soft.New(soft.Config{}), logged: &logBook{}}
	for i := range max(1, c.procs) {
		w.procs = append(w.procs, dispatch.New(fmt.Sprint("p", i)))
	}
	w.tdev, w.idev = w.open("target", "192.0.2.10"), w.open("initiator", "192.0.2.20")
	tc := target.Config{Device: w.tdev, Processor: w.procs[0], ID: worldTarget}
	if c.target != nil {
		c.target(&tc)
	}
	ctx := t.Context()
	var err error
	if w.peer, err = target.New(ctx, tc); err != nil {
		t.Fatal(err)
	}
	for range max(1, c.units) {
		w.attach()
	}
	w.must(w.peer.Listen(ctx, verbs.Address{Dst: worldAddr}))

	config := Config{Processors: w.procs, Log: slog.New(w.logged)}
	config.UnitFound = func(u *Unit) { w.mu.Lock(); w.found = append(w.found, u); w.mu.Unlock() }
	config.UnitChanged = func(u *Unit) { w.mu.Lock(); w.moved++; w.mu.Unlock() }
	if w.port, err = New(config); err != nil {
		t.Fatal(err)
	}
	w.srp = NewSRP(SRPConfig{Device: w.idev, Protect: c.protect})
	if w.adapter, err = w.port.AddAdapter(ctx, "srp0", w.srp); err != nil {
		t.Fatal(err)
	}
	a, err := arena.New(worldMemory)
	if err != nil {
		t.Fatal(err)
	}
	if w.memory, err = w.port.RegisterRegion(ctx, a); err != nil {
		t.Fatal(err)
	}
	if !c.alone {
		if w.target, err = w.srp.AddTarget(ctx, w.config(c.session), false); err != nil {
			t.Fatal(err)
		}
		w.units = w.scan()
	}
	return w
}

// config is how the world logs in.
func (w *world) config(change func(c *srp.SessionConfig)) TargetConfig {
	c := TargetConfig{Name: "peer", Address: verbs.Address{Dst: worldAddr}, Port: worldTarget, Initiator: worldIniti}
	c.Session.Channels, c.Session.QueueSize = len(w.procs), 8
	c.Session.ImmediateData = srp.DefaultImmediateData
	if change != nil {
		change(&c.Session)
	}
	return c
}

func (w *world) open(name, addr string) *verbs.Device {
	hca, err := w.fabric.Plug(soft.HCAConfig{Name: name, GUID: verbs.GUID(len(name)), Addr: netip.MustParseAddr(addr)})
	if err != nil {
		w.t.Fatal(err)
	}
	return verbs.Open(hca, w.procs[0], nil)
}

// attach puts one more unit on the target.
func (w *world) attach() {
	ram, err := lun.NewRAM(worldBlocks*512, 512)
	if err != nil {
		w.t.Fatal(err)
	}
	g := luntest.Pause(ram)
	n := len(w.peers)
	u, err := lun.NewUnit(w.procs[0], lun.Config{Store: g, Serial: fmt.Sprint("world", n)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.gates, w.stores, w.peers = append(w.gates, g), append(w.stores, ram), append(w.peers, u)
	w.must(w.peer.Attach(w.t.Context(), n, u))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) scan() []*Unit {
	w.t.Helper()
	units, err := w.port.Scan(w.t.Context(), w.adapter, w.target)
	w.must(err)
	return units
}

// close ends the world; nothing may be left.
func (w *world) close() {
	ctx := context.Background()
	for _, g := range w.gates {
		g.Open()
	}
	w.port.DeregisterRegion(ctx, w.memory)
	for _, c := range []func() error{
		w.memory.arena.Close,
		func() error { return w.port.Close(ctx) },
		func() error { return w.peer.Close(ctx) },
		func() error { return w.idev.Close(ctx) },
		func() error { return w.tdev.Close(ctx) },
	} {
		if err := c(); err != nil {
			w.t.Error(err)
		}
	}
	for i := range w.peers {
		w.peers[i].Close(ctx)
	}
	for _, p := range w.procs {
		p.Close()
	}
}

// faults changes what the target does wrong.
func (w *world) faults(text string) {
	w.t.Helper()
	rs, err := fault.Parse(text)
	w.must(err)
	w.must(w.peer.SetFaults(w.t.Context(), rs))
}

// do has the target do something to each channel.
func (w *world) do(text string) {
	w.t.Helper()
	a, err := fault.ParseAction(text)
	w.must(err)
	if _, err := w.peer.Do(w.t.Context(), access.All(), a); err != nil {
		w.t.Error(err)
	}
}

// after lets d pass, and everything that follows from it happen.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// io is an SRB with a count of its completions.
type io struct {
	SRB
	w     *world
	count atomic.Int32
	at    time.Time
}

// rw makes a READ or WRITE of n blocks at lba, whose data lies at off of the memory.
func (w *world) rw(write bool, lba, n uint32, off uint64) *io {
	q := &io{w: w}
	q.Direction, q.Length, q.Timeout = DataIn, n*512, 2*time.Second
	if write {
		q.Direction = DataOut
	}
	q.Data = []Segment{{Region: w.memory, Offset: off, Length: q.Length}}
	q.CDBLength = uint8((&scsi.RW{Write: write, LBA: uint64(lba), Blocks: n}).Put(&q.CDB))
	q.Done = func(f *dispatch.Frame, s *SRB) {
		q.at = time.Now()
		q.count.Add(1)
	}
	return q
}

// submit submits an SRB on processor i.
func (q *io) submit(i int, u *Unit) *io {
	var f dispatch.Frame
	q.w.procs[i].Raise(&f)
	u.Submit(&f, &q.SRB)
	f.Lower()
	return q
}

// ended says how an SRB has ended, which it must have, once.
func (q *io) ended() Status {
	q.w.t.Helper()
	synctest.Wait()
	if n := q.count.Load(); n != 1 {
		q.w.t.Fatalf("completed %d times, want once", n)
	}
	return q.Status
}

func (q *io) pending() bool { synctest.Wait(); return q.count.Load() == 0 }

// works holds that every unit reads and writes.
func (w *world) works() {
	w.t.Helper()
	for i, u := range w.units {
		b := w.memory.Bytes()
		fill(b[:4096], byte(i+1))
		if st := w.rw(true, 8, 8, 0).submit(i%len(w.procs), u).ended(); st != StatusSuccess {
			// A unit attention is the first to be told.
			if st = w.rw(true, 8, 8, 0).submit(i%len(w.procs), u).ended(); st != StatusSuccess {
				w.t.Fatalf("write: %s", st)
			}
		}
		q := w.rw(false, 8, 8, 4096).submit(i%len(w.procs), u)
		if st := q.ended(); st != StatusSuccess || !bytes.Equal(b[4096:8192], b[:4096]) {
			w.t.Fatalf("read: %s, %v", st, q.Err())
		}
	}
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// settled waits until the target is up with n logins.
func (w *world) settled(n uint64) {
	w.t.Helper()
	synctest.Wait()
	if w.target.State() != TargetUp || w.target.Logins() != n {
		w.t.Fatalf("%s with %d logins, want up with %d; %v", w.target.State(), w.target.Logins(), n, w.target.Err())
	}
}

// logBook keeps what is logged.
type logBook struct {
	mu    sync.Mutex
	lines []string
}

func (b *logBook) Enabled(context.Context, slog.Level) bool { return true }
func (b *logBook) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b *logBook) WithGroup(string) slog.Handler            { return b }
func (b *logBook) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line)
	return nil
}

// count returns how many lines begin so.
func (b *logBook) count(message string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lines {
		if len(l) >= len(message) && l[:len(message)] == message {
			n++
		}
	}
	return n
}
