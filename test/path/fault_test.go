package path

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target/fault"
	"minisrp/test/rig"
)

// bed is a rig in a bubble of its own time, with a unit whose memory the test sees, and registered memory of a host.
type bed struct {
	*rig.Rig
	t      *testing.T
	store  []byte // the unit's
	region *miniport.Region
}

const (
	bedSize   = 4 << 20
	bedMemory = 128 << 10
)

// inBed runs fn on a rig that has no faults yet. Everything of it must be gone in the end.
func inBed(t *testing.T, c rig.Config, fn func(b *bed)) {
	synctest.Test(t, func(t *testing.T) {
		ram, err := lun.NewRAM(bedSize, 512)
		if err != nil {
			t.Fatal(err)
		}
		c.Stores = []lun.Store{ram}
		r, err := rig.New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer closeRig(t, r)
		region, free, err := r.Memory(t.Context(), bedMemory)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		fn(&bed{r, t, ram.Mapping().Memory.Bytes(), region})
	})
}

// faults says what goes wrong from now on.
func (b *bed) faults(text string) *fault.Rules {
	b.t.Helper()
	rs := rules(b.t, text)
	if err := b.Target.SetFaults(b.t.Context(), rs); err != nil {
		b.t.Fatal(err)
	}
	return rs
}

// read and write are requests of 64 KiB at 32 KiB, in the first and second half of the memory.
func (b *bed) request(op disk.Op) *disk.Request {
	q := &disk.Request{Op: op, Offset: 32 << 10, Length: 64 << 10}
	s := miniport.Segment{Region: b.region, Length: 64 << 10}
	if op == disk.Write {
		s.Offset = 64 << 10
	}
	q.Data = []miniport.Segment{s}
	return q
}

// took does a request and returns how long it took.
func (b *bed) took(q *disk.Request) (time.Duration, error) {
	begun := time.Now()
	err := b.Do(b.Disks[0], q)
	return time.Since(begun), err
}

// whole does a write and a read, without faults, and compares: nothing of a fault is left.
func (b *bed) whole() {
	b.t.Helper()
	b.faults("")
	q := b.request(disk.Write)
	for i := range q.Data[0].Bytes() {
		q.Data[0].Bytes()[i] = byte(i >> 3)
	}
	if err := b.Do(b.Disks[0], q); err != nil {
		b.t.Errorf("a write afterwards: %v", err)
	}
	p := b.request(disk.Read)
	if err := b.Do(b.Disks[0], p); err != nil {
		b.t.Errorf("a read afterwards: %v", err)
	}
	if !bytes.Equal(p.Data[0].Bytes(), q.Data[0].Bytes()) {
		b.t.Error("what was written afterwards is not what is read")
	}
	after(time.Minute) // ghosts, and what the disk looks at again
	if n := b.Port.Units()[0].Counters().InFlight; n != 0 {
		b.t.Errorf("%d requests are left at the adapter", n)
	}
	who, err := b.Target.Sessions(b.t.Context())
	if err != nil || len(who) != 1 {
		b.t.Fatalf("%+v, %v", who, err)
	}
	for _, c := range who[0].Channels {
		if c.Outstanding != 0 {
			b.t.Errorf("%d requests are left at the target", c.Outstanding)
		}
	}
}

// channel is the counters of the session's channel.
func (b *bed) channel() srp.ChannelStats {
	b.t.Helper()
	s := b.Path.Channels(b.t.Context())
	if len(s) != 1 {
		b.t.Fatalf("%d channels", len(s))
	}
	return s[0].Stats
}

// What a disk's user sees of each fault of the target: how long it takes, or which error comes.
func TestFaults(t *testing.T) {
	const ladder = 30 * time.Second // until a command is given up
	for _, c := range []struct {
		faults   string
		op       disk.Op
		want     error
		from, to time.Duration
		aborts   uint64
		resets   uint64
		logins   uint64
		late     uint64 // responses to what had ended
	}{
		{faults: "delay=3s", op: disk.Read, from: 3 * time.Second, to: 3 * time.Second},
		{faults: "delay=3s", op: disk.Write, from: 3 * time.Second, to: 3 * time.Second},
		{faults: "late=3s", op: disk.Write, from: 3 * time.Second, to: 3 * time.Second},
		{faults: "delay=1h,times=1", op: disk.Read, from: ladder, to: ladder + time.Second, aborts: 1},
		{faults: "late=1h,times=1", op: disk.Write, from: ladder, to: ladder + time.Second, aborts: 1},
		{faults: "lose,times=1", op: disk.Write, from: ladder, to: ladder + time.Second, aborts: 1},
		{faults: "lose,leak,times=1", op: disk.Read, from: ladder, to: ladder + time.Second, aborts: 1},
		{faults: "ghost=31s,times=1", op: disk.Read, from: ladder, to: ladder + time.Second, aborts: 1, late: 1},
		{faults: "duplicate", op: disk.Read, late: 1},
		{faults: "residual=512,times=1", op: disk.Read, to: time.Second},
		{faults: "residual=512", op: disk.Read, want: disk.ErrIO, to: time.Minute},
		{faults: "residual=-512", op: disk.Write, want: disk.ErrIO, to: time.Minute},
		{faults: "status=busy,times=3", op: disk.Read, from: 750 * time.Millisecond, to: time.Second},
		{faults: "status=busy", op: disk.Read, want: disk.ErrBusy, from: time.Minute, to: 4 * time.Minute},
		{faults: "status=task-set-full,times=3", op: disk.Write, to: 2 * time.Second},
		{faults: "status=task-aborted,times=1", op: disk.Write, to: time.Second},
		{faults: "status=reservation-conflict", op: disk.Write, want: disk.ErrReserved},
		{faults: "sense=3/1100", op: disk.Read, want: disk.ErrMedium},
		{faults: "sense=7/2700", op: disk.Write, want: disk.ErrReadOnly},
		{faults: "sense=6/2900,times=3", op: disk.Write},
		{faults: "logout=0,times=1", op: disk.Write, to: time.Second, logins: 2},
		{faults: "logout=1,times=1", op: disk.Read, to: time.Second, logins: 2},
		{faults: "logout=2,times=1", op: disk.Read, to: time.Second, logins: 2},
		{faults: "logout=3,times=1", op: disk.Read, to: time.Second, logins: 2},
		{faults: "logout=4,times=1", op: disk.Read, to: time.Second, logins: 2},
		{faults: "disconnect,times=1", op: disk.Write, to: time.Second, logins: 2},
		{faults: "disconnect,times=3", op: disk.Write, to: 5 * time.Second, logins: 4},
		{faults: "cred-req=-61; cred-req=61,skip=1", op: disk.Read},
		{faults: "aer=2a09", op: disk.Read},
		{faults: "delay=1h,times=1; lose,op=abort", op: disk.Read, from: ladder + 5*time.Second, to: ladder + 6*time.Second, aborts: 1, resets: 1},
		{faults: "delay=1h,times=1,stubborn", op: disk.Write, from: ladder + 15*time.Second, to: ladder + 16*time.Second, aborts: 1, resets: 2, logins: 2},
		{faults: "late=1h,times=1,stubborn", op: disk.Write, from: ladder + 15*time.Second, to: ladder + 16*time.Second, aborts: 1, resets: 2, logins: 2},
		{faults: "delay=1h,times=1; lose,op=tmf", op: disk.Read, from: ladder + 15*time.Second, to: ladder + 16*time.Second, aborts: 1, resets: 2, logins: 2},
		{faults: "delay=1h,times=1; delay=4s,op=tmf", op: disk.Read, from: ladder + 4*time.Second, to: ladder + 5*time.Second, aborts: 1},
		{faults: "delay=1h,times=1; delay=1h,op=tmf; stale,times=4; reject=0x00010001,times=3", op: disk.Read, from: ladder + 15*time.Second, to: ladder + 20*time.Second, aborts: 1, resets: 2, logins: 2},
		{faults: "delay=1h", op: disk.Read, want: disk.ErrTimeout, from: 3 * ladder, to: 3*ladder + time.Second, aborts: 3},
	} {
		t.Run(c.faults+" "+c.op.String(), func(t *testing.T) {
			inBed(t, rig.Config{}, func(b *bed) {
				b.faults(c.faults)
				took, err := b.took(b.request(c.op))
				if !errors.Is(err, c.want) || c.want == nil && err != nil {
					t.Errorf("%v, want %v", err, c.want)
				}
				k := b.Port.Units()[0].Counters()
				if took < c.from || took > max(c.to, c.from) {
					t.Errorf("took %v, want %v to %v", took, c.from, c.to)
				}
				if s := b.channel(); s.UnknownTags+s.UnknownIUs != 0 {
					t.Errorf("%+v: what was not asked for", s)
				}
				if k.Aborts != c.aborts || k.Resets != c.resets || b.Path.Logins() != max(1, c.logins) {
					t.Errorf("%d aborts, %d resets, %d logins; want %d, %d, %d", k.Aborts, k.Resets, b.Path.Logins(), c.aborts, c.resets, max(1, c.logins))
				}
				b.whole()
				if s := b.channel(); c.logins == 0 && (s.Late != c.late || s.Aborted != c.aborts) {
					t.Errorf("%d responses were late and %d commands given up, want %d and %d", s.Late, s.Aborted, c.late, c.aborts)
				}
			})
		})
	}
}

// A disk that looks at its unit again, and is told by one of the answers that less of it came than did, does not take it
// for another unit.
func TestFaultShortIdentity(t *testing.T) {
	for _, skip := range []string{"", ",skip=1", ",skip=2", ",skip=3", ",skip=4", ",skip=5", ",skip=6"} {
		inBed(t, rig.Config{}, func(b *bed) {
			rs := b.faults("residual=240,op=0x12,times=1" + skip + "; sense=6/3f03,op=read,times=1")
			before := b.Disks[0].Info()
			if _, err := b.took(b.request(disk.Read)); err != nil {
				b.t.Error(err)
			}
			after(time.Minute)
			if h := rs.Hits(); h[0] != 1 || h[1] != 1 {
				b.t.Errorf("%s: hits %v", rs, h)
			}
			if now := b.Disks[0].Info(); now.Identity != before.Identity || now.Size != before.Size {
				b.t.Errorf("%s: %+v, before %+v", rs, now, before)
			}
			b.whole()
		})
	}
}
