package path

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/access"
	"minisrp/test/rig"
	"minisrp/verbs/dispatch"
)

// told collects a disk's events.
type told struct {
	mu    sync.Mutex
	kinds []disk.EventKind
}

func (e *told) options(o *disk.Options) {
	o.Event = func(_ context.Context, x disk.Event) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.kinds = append(e.kinds, x.Kind)
	}
}

// take returns what was told since.
func (e *told) take() []disk.EventKind {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := e.kinds
	e.kinds = nil
	return k
}

// second is another host on the same target, with an initiator port of its own.
func (b *bed) second(o func(*disk.Options)) *rig.Host {
	b.t.Helper()
	h, err := b.Join(b.t.Context(), rig.HostConfig{
		Addr: netip.MustParseAddr("192.0.2.21"), GUID: 3, Initiator: srp.IOClassR16a.PortID(0, 0x0002c90300000003), Disk: o,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

// on does an operation of 4 KiB at an offset on a host's disk.
func on(t *testing.T, h *rig.Host, op disk.Op, off uint64, fill byte) ([]byte, error) {
	t.Helper()
	region, free, err := h.Memory(t.Context(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	for i := range region.Bytes() {
		region.Bytes()[i] = fill
	}
	q := &disk.Request{Op: op, Offset: off, Length: 4096, Data: []miniport.Segment{{Region: region, Length: 4096}}}
	err = h.Do(h.Disks[0], q)
	return bytes.Clone(region.Bytes()), err
}

// Two hosts on one unit have sessions of their own: what one writes the other reads; what happens to the unit is told to
// both; and what happens to one's session, or is reset by one, does not end what the other does.
func TestTwoHosts(t *testing.T) {
	var first, other told
	inBed(t, rig.Config{Disk: first.options}, func(b *bed) {
		h := b.second(other.options)
		who, err := b.Target.Sessions(b.t.Context())
		if err != nil || len(who) != 2 || who[0].Initiator == who[1].Initiator {
			b.t.Fatalf("%+v, %v", who, err)
		}
		if _, err := on(b.t, b.Host, disk.Write, 0, 0xa5); err != nil {
			b.t.Error(err)
		}
		if got, err := on(b.t, h, disk.Read, 0, 0); err != nil || got[0] != 0xa5 || got[4095] != 0xa5 {
			b.t.Errorf("what the other reads: %x…, %v", got[:4], err)
		}

		// A change of the unit: told by unit attentions, to each with its next command.
		if err := b.Units[0].CapacityChanged(); err != nil {
			b.t.Fatal(err)
		}
		extra, err := lun.NewRAM(1<<20, 512)
		if err != nil {
			b.t.Fatal(err)
		}
		u, err := lun.NewUnit(b.Processor, lun.Config{Store: extra, Serial: "extra"})
		if err != nil {
			b.t.Fatal(err)
		}
		b.Units = append(b.Units, u)
		if err := b.Target.Attach(b.t.Context(), 1, u); err != nil {
			b.t.Fatal(err)
		}
		for i, x := range []struct {
			h *rig.Host
			e *told
		}{{b.Host, &first}, {h, &other}} {
			if _, err := on(b.t, x.h, disk.Read, 0, 0); err != nil {
				b.t.Error(err)
			}
			synctest.Wait()
			if k := x.e.take(); !slices.Contains(k, disk.LUNsChanged) {
				b.t.Errorf("host %d was told %v", i, k)
			}
		}

		// A reset by one while both have something under way: each ends well.
		b.faults("late=1s,op=write")
		q := b.request(disk.Write)
		mine := b.Submit(b.Disks[0], q)
		theirs := make(chan error, 1)
		go func() {
			_, err := on(b.t, h, disk.Write, 1<<20, 0x77)
			theirs <- err
		}()
		after(100 * time.Millisecond)
		b.reset(h)
		<-mine
		if err := <-theirs; err != nil || q.Err != nil {
			b.t.Errorf("after a reset: %v, %v", q.Err, err)
		}
		if b.store[1<<20] != 0x77 || b.store[32<<10] != q.Data[0].Bytes()[0] {
			b.t.Error("a write that was aborted by the reset was not carried out afterwards")
		}
		if n := h.Path.Logins() + b.Path.Logins(); n != 2 {
			b.t.Errorf("%d logins", n)
		}

		// The session of one ends; the other's does not notice.
		b.faults("disconnect,from=192.0.2.21")
		if _, err := on(b.t, h, disk.Read, 0, 0); !errors.Is(err, disk.ErrIO) && !errors.Is(err, disk.ErrGone) && !errors.Is(err, disk.ErrTimeout) {
			b.t.Errorf("the host that is disconnected each time: %v", err)
		}
		if _, err := on(b.t, b.Host, disk.Read, 0, 0); err != nil || b.Path.Logins() != 1 {
			b.t.Errorf("the other: %v, %d logins", err, b.Path.Logins())
		}
		b.faults("")
		if _, err := on(b.t, h, disk.Read, 0, 0); err != nil {
			b.t.Error(err)
		}
	})
}

// reset resets the first unit of a host, as its users could.
func (b *bed) reset(h *rig.Host) {
	b.t.Helper()
	done := make(chan struct{})
	s := &miniport.SRB{Timeout: time.Second}
	s.CDBLength = uint8((&scsi.RW{Write: true, LBA: 8 << 10, Blocks: 0}).Put(&s.CDB))
	s.Done = func(*dispatch.Frame, *miniport.SRB) { close(done) }
	b.faults("late=1s,op=write; delay=10s,op=0x2a,lun=0,from=192.0.2.21; lose,op=abort,from=192.0.2.21")
	u := h.Port.Units()[0]
	var f dispatch.Frame
	b.Processor.Raise(&f)
	u.Submit(&f, s)
	f.Lower()
	<-done
	b.faults("")
	if k := h.Port.Units()[0].Counters(); k.Resets != 1 {
		b.t.Fatalf("%+v: the unit was not reset", k)
	}
}

// A target that says by SRP_AER_REQ that there are other units: they are found without a command that tells of them.
func TestFaultAsyncEventFindsUnit(t *testing.T) {
	inBed(t, rig.Config{}, func(b *bed) {
		extra, err := lun.NewRAM(1<<20, 512)
		if err != nil {
			b.t.Fatal(err)
		}
		u, err := lun.NewUnit(b.Processor, lun.Config{Store: extra, Serial: "extra"})
		if err != nil {
			b.t.Fatal(err)
		}
		b.Units = append(b.Units, u)
		if err := b.Target.Attach(b.t.Context(), 5, u); err != nil {
			b.t.Fatal(err)
		}
		b.act("aer=3f0e")
		if n := len(b.Port.Units()); n != 2 {
			b.t.Errorf("%d units", n)
		}
		if s := b.channel(); s.AsyncEvents != 1 {
			b.t.Errorf("%+v", s)
		}
	})
}

// Hosts of different groups see different units, and one whom no group names is refused with the reason that says so.
func TestHostsOfGroups(t *testing.T) {
	closed := func(c *target.Config) { c.Closed = true }
	inBed(t, rig.Config{}, func(b *bed) {
		g, err := b.Target.AddGroup(b.t.Context(), target.GroupConfig{
			Name: "second", Initiators: []access.Match{access.Net(netip.MustParsePrefix("192.0.2.21/32"))},
		})
		if err != nil {
			b.t.Fatal(err)
		}
		extra, err := lun.NewRAM(2<<20, 512)
		if err != nil {
			b.t.Fatal(err)
		}
		u, err := lun.NewUnit(b.Processor, lun.Config{Store: extra, Serial: "extra"})
		if err != nil {
			b.t.Fatal(err)
		}
		b.Units = append(b.Units, u)
		for n, u := range map[int]*lun.Unit{0: u, 9: b.Units[0]} {
			if err := g.Attach(b.t.Context(), n, u); err != nil {
				b.t.Fatal(err)
			}
		}
		h := b.second(nil)
		if len(b.Disks) != 1 || len(h.Disks) != 2 || h.Disks[0].Info().Size != 2<<20 || h.Disks[1].Info().Identity != b.Disks[0].Info().Identity {
			b.t.Errorf("%d and %d disks", len(b.Disks), len(h.Disks))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, err := rig.New(t.Context(), rig.Config{Target: closed})
		var rej *srp.RejectError
		if !errors.As(err, &rej) || rej.Reason != srp.RejectUnableAssociate {
			t.Errorf("a port that is closed to strangers: %v", err)
		}
		if err == nil {
			closeRig(t, r)
		}
	})
}
