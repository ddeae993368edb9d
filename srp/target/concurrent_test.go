package target_test

import (
	"bytes"
	"context"
	"net/netip"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// chain writes blocks of its own and reads them back, over and over, each request started from the end of the one
// before.
type chain struct {
	srp.Request
	c     *srp.Channel
	lba   uint64
	mem   []byte
	left  int
	write bool
	seed  int
	bad   string
	done  chan struct{}
}

func (k *chain) next(f *dispatch.Frame) {
	k.write = !k.write
	k.Direction = srp.DataIn
	if k.write {
		k.seed++
		pattern(k.seed, k.mem)
		k.Direction = srp.DataOut
	}
	copy(k.CDB, rw(k.write, k.lba, len(k.mem)))
	if err := k.c.Start(f, &k.Request); err != nil {
		k.end(err.Error())
	}
}

func (k *chain) end(why string) {
	k.bad = why
	close(k.done)
}

func (k *chain) ended(f *dispatch.Frame, _ *srp.Request) {
	switch {
	case k.Outcome != srp.Completed || k.Status != scsi.StatusGood:
		k.end(k.Outcome.String() + ", " + k.Status.String())
	case !k.write && !bytes.Equal(k.mem, pattern(k.seed, make([]byte, len(k.mem)))):
		k.end("what was read differs from what was written")
	default:
		if k.left--; k.left == 0 {
			k.end("")
			return
		}
		if k.write {
			clear(k.mem)
		}
		k.next(f)
	}
}

// Initiator and target on processors of their own, with goroutines, several channels and stores that work at the side:
// nothing gets lost or mixed up.
func TestProcessorsOfTheirOwn(t *testing.T) {
	procs := []*dispatch.Processor{dispatch.New("target"), dispatch.New("initiator 0"), dispatch.New("initiator 1")}
	fabric := soft.New(soft.Config{})
	ctx := context.Background()
	open := func(addr string, p *dispatch.Processor) *verbs.Device {
		return verbs.Open(must(fabric.Plug(soft.HCAConfig{Name: addr, Addr: netip.MustParseAddr(addr)})), p, nil)
	}
	tdev, idev := open("192.0.2.2", procs[0]), open("192.0.2.1", procs[1])
	port := must(target.New(ctx, target.Config{Device: tdev, Processor: procs[0], ID: portID}))
	var units []*lun.Unit
	for n, s := range []lun.Store{ram(), luntest.Count(ram())} {
		u := must(lun.NewUnit(procs[0], lun.Config{Store: s, Serial: "x"}))
		units = append(units, u)
		if err := port.Attach(ctx, n, u); err != nil {
			t.Fatal(err)
		}
	}
	if err := port.Listen(ctx, verbs.Address{Dst: portAddr}); err != nil {
		t.Fatal(err)
	}
	mem := must(arena.New(8 << 20))
	pd := result(t, idev.CreatePD)
	mr := result(t, func(op *verbs.Op[*verbs.MR]) {
		pd.RegisterMR(op, &verbs.MRAttr{Arena: mem, Access: verbs.LocalWrite | verbs.BindMW})
	})
	s, err := srp.Login(ctx, &srp.SessionConfig{
		Device: idev, PD: pd, Address: verbs.Address{Dst: portAddr}, Initiator: initiator, Target: portID,
		Processors: procs[1:], Channels: 2, ImmediateData: srp.DefaultImmediateData,
	})
	if err != nil {
		t.Fatal(err)
	}

	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	var chains []*chain
	for _, c := range s.Channels() {
		for j := range 16 {
			n := len(chains)
			size := []int{512, 4096, 64 << 10, 200 << 10}[j%4]
			off := n * (256 << 10)
			k := &chain{c: c, lba: uint64(n * 512), mem: mem.Bytes()[off:][:size:size], left: rounds, seed: n << 8, done: make(chan struct{})}
			k.LUN, k.CDB, k.Done, k.Length = scsi.PeripheralLUN(uint8(j%2)), make([]byte, 16), k.ended, uint32(size)
			k.Segments = []srp.Segment{{Addr: mem.Addr() + uint64(off), Length: uint32(size), LKey: mr.LKey(), RKey: mr.RKey(), Mem: k.mem}}
			chains = append(chains, k)
		}
	}
	attention := func(n uint8) { // TEST UNIT READY until it is good
		for range 5 {
			done := make(chan scsi.Status, 1)
			r := &srp.Request{LUN: scsi.PeripheralLUN(n), CDB: make([]byte, 16)}
			r.Done = func(_ *dispatch.Frame, r *srp.Request) { done <- r.Status }
			on(s.Channels()[0], func(f *dispatch.Frame) {
				if err := s.Channels()[0].Start(f, r); err != nil {
					t.Error(err)
				}
			})
			if <-done == scsi.StatusGood {
				return
			}
		}
		t.Errorf("unit %d does not get ready", n)
	}
	attention(0)
	attention(1)
	for _, k := range chains {
		on(k.c, k.next)
	}
	late := time.After(60 * time.Second)
	for i, k := range chains {
		select {
		case <-k.done:
			if k.bad != "" {
				t.Errorf("chain %d: %s", i, k.bad)
			}
		case <-late:
			t.Fatalf("chain %d: %d left", i, k.left)
		}
	}
	if err := s.Logout(ctx); err != nil {
		t.Error(err)
	}
	if err := port.Close(ctx); err != nil {
		t.Error(err)
	}
	for _, u := range units {
		if err := u.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	result(t, mr.Close)
	result(t, pd.Close)
	for _, d := range []*verbs.Device{idev, tdev} {
		if err := d.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	for _, p := range procs {
		p.Close()
	}
	mem.Close()
}

// on calls fn on the channel's processor, and waits for it.
func on(c *srp.Channel, fn func(f *dispatch.Frame)) {
	done := make(chan struct{})
	var d dispatch.DPC
	d.Init(c.Processor(), func(f *dispatch.Frame) {
		fn(f)
		close(done)
	})
	d.Post()
	<-done
}
