package nbd_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"testing"
	"time"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/scsi/disk"
)

// A client that disappears leaves requests behind that point into its memory: it
// is not used again before they have completed.
func TestClientVanishes(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		d := ram(t, nbdtest.Disk(mib), opts...)
		s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 2 * mib}, nbd.Export{Backend: d})
		d.Hold()
		k := s.dial(t)
		k.enter("", simple)
		for i := range 20 {
			k.request(0, write, uint64(i), uint64(i)*4096, 4096, pattern(4096, 7))
			k.request(0, read, uint64(i), uint64(i)*4096, 4096)
		}
		k.request(0, write, 99, 512<<10, 256<<10, make([]byte, 1000)) // and ends in mid-payload
		eventually(t, "all have been submitted", func() bool { return d.Held() == 40 })
		_ = k.Close()
		again := s.dial(t)
		again.greet(3)
		again.option(7, uint32(0), uint16(0))
		if text := again.wantReply(7, 1<<31+2); !strings.Contains(string(text), "memory") {
			t.Fatalf("the answer is %q", text)
		}
		if x := s.Stats().Exports[0]; x.MemoryGets != 1 || x.MemoryPuts != 0 {
			t.Fatalf("the memory was put back with requests in it: %+v", x)
		}
		d.Release()
		eventually(t, "the memory is free", func() bool { return s.Stats().Exports[0].MemoryPuts == 1 })
		if got := d.Snapshot(); !bytes.Equal(got[:4096], pattern(4096, 7)) || !bytes.Equal(got[512<<10:], make([]byte, 512<<10)) {
			t.Error("the disk does not hold what was sent in full, or holds what was not")
		}
		again.option(7, uint32(0), uint16(0))
		again.wantReply(7, 3)
	})
}

// A client that asks and does not read is read from until slots and memory are
// used up, and is served in full once it reads.
func TestClientSendsBeforeItReceives(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		d := ram(t, nbdtest.Disk(4*mib), opts...)
		s := serve(t, nbd.Config{ConnMemory: 2 * mib}, nbd.Export{Backend: d})
		k := s.dial(t)
		k.enter("", simple)
		const n = 200 // as much as the socket holds while the reader waits
		for i := range n {
			k.request(0, read, uint64(i), uint64(i%8)*(64<<10), 64<<10)
		}
		seen := map[uint64]bool{}
		for range n {
			a := k.answer(64 << 10)
			if a.errno != 0 || seen[a.cookie] {
				t.Fatalf("error %d, cookie %d seen %v", a.errno, a.cookie, seen[a.cookie])
			}
			seen[a.cookie] = true
		}
		if x := s.Stats().Exports[0]; x.Full == 0 || x.Waits == 0 {
			t.Errorf("the socket was never full, or the reader never waited: %+v", x)
		}
	})
}

// More in flight than there are slots.
func TestMoreThanSlots(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib))
	s := serve(t, nbd.Config{}, nbd.Export{Backend: d})
	k := s.dial(t)
	k.enter("", simple)
	d.Hold()
	const n = 190 // the socket holds the rest
	for i := range n {
		k.request(0, write, uint64(i), 0, 512, make([]byte, 512))
	}
	eventually(t, "the slots are full", func() bool { return d.Held() == 128 })
	d.Release()
	for range n {
		if a := k.answer(0); a.errno != 0 {
			t.Fatalf("error %d", a.errno)
		}
	}
}

// NBD_FLAG_CAN_MULTI_CONN: a flush on one connection covers what another wrote.
func TestFlushCoversAllConnections(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib), nbdtest.Cached())
	s := serve(t, nbd.Config{}, nbd.Export{Backend: d})
	a, b := s.dial(t), s.dial(t)
	a.enter("", simple)
	b.enter("", simple)
	p := pattern(4096, 3)
	a.request(0, write, 1, 8192, 4096, p)
	a.want(0, 1)
	b.request(0, read, 2, 8192, 4096)
	if !bytes.Equal(b.wantData(4096, 2), p) {
		t.Error("the other connection does not see what was written")
	}
	if bytes.Equal(d.Durable()[8192:][:4096], p) {
		t.Error("durable before the flush: the disk under test has no cache")
	}
	b.request(0, flush, 3, 0, 0)
	b.want(0, 3)
	if !bytes.Equal(d.Durable()[8192:][:4096], p) {
		t.Error("not durable after the flush")
	}
}

// NBD_CMD_DISC: what came before it is answered.
func TestDisconnectFinishes(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		d := ram(t, nbdtest.Disk(mib), opts...)
		s := serve(t, nbd.Config{}, nbd.Export{Backend: d})
		k := s.dial(t)
		k.enter("", simple)
		d.Hold()
		k.request(0, flush, 1, 0, 0)
		k.request(0, disc, 2, 0, 0)
		eventually(t, "the flush is there", func() bool { return d.Held() == 1 })
		d.Release()
		k.want(0, 1)
		k.eof()
	})
}

// Shutdown answers what is in flight, flushes, and closes.
func TestShutdownFinishes(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		d := ram(t, nbdtest.Disk(mib), append(opts, nbdtest.Cached())...)
		s := serve(t, nbd.Config{}, nbd.Export{Backend: d})
		k := s.dial(t)
		k.enter("", simple)
		negotiating := s.dial(t)
		negotiating.greet(3)
		negotiating.option(8)
		negotiating.wantReply(8, 1) // it has read what was sent: closing resets nothing
		d.Hold()
		p := pattern(4096, 9)
		k.request(0, write, 1, 0, 4096, p)
		eventually(t, "the write is there", func() bool { return d.Held() == 1 })
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }()
		negotiating.eof()
		d.Release()
		k.want(0, 1)
		k.eof()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(d.Durable()[:4096], p) || d.Count(disk.Flush) != 1 {
			t.Errorf("not flushed: %d flushes", d.Count(disk.Flush))
		}
		if _, err := net.Dial("unix", s.path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
}

// A client that never reads its replies does not hold up the end longer than the
// context allows.
func TestShutdownOfStuckClient(t *testing.T) {
	d := ram(t, nbdtest.Disk(8*mib))
	s := serve(t, nbd.Config{}, nbd.Export{Backend: d})
	k := s.dial(t)
	k.enter("", simple)
	for i := range 4 {
		k.request(0, read, uint64(i), 0, mib)
	}
	eventually(t, "the socket is full", func() bool { return s.Stats().Exports[0].Full > 0 })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown gives %v", err)
	}
}

// A client that never reads its replies is cut off, and the end is a clean one for
// all others.
func TestShutdownCutsOff(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		d := ram(t, nbdtest.Disk(8*mib), append(opts, nbdtest.Cached())...)
		s := serve(t, nbd.Config{PartingTime: 30 * time.Millisecond}, nbd.Export{Name: "x", Backend: d})
		stuck, other := s.dial(t), s.dial(t)
		stuck.enter("x", simple)
		other.enter("x", simple)
		for i := range 4 {
			stuck.request(0, read, uint64(i), 0, mib)
		}
		eventually(t, "the socket is full", func() bool { return s.Stats().Exports[0].Full > 0 })
		p := pattern(4096, 9)
		other.request(0, write, 1, 0, 4096, p)
		other.want(0, 1)
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown gives %v", err)
		}
		other.eof()
		if !bytes.Equal(d.Durable()[:4096], p) || d.Count(disk.Flush) == 0 {
			t.Error("not flushed")
		}
		if !strings.Contains(s.log.String(), "does not take its replies") {
			t.Errorf("the log does not say who was cut off:\n%s", s.log)
		}
	})
}

// A slow disk's replies are still taken after the parting time has passed: that time is the client's.
func TestPartingTimeIsOfTheClient(t *testing.T) {
	d := ram(t, nbdtest.Disk(8*mib))
	s := serve(t, nbd.Config{PartingTime: time.Second}, nbd.Export{Name: "x", Backend: d})
	k := s.dial(t)
	k.enter("x", simple)
	d.Hold()
	k.request(0, read, 1, 0, 4096)
	eventually(t, "the disk has it", func() bool { return d.Held() == 1 })
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	eventually(t, "the parting time has passed", func() bool {
		until := s.writeUntil.Load()
		return until != 0 && time.Now().UnixNano() > until
	})
	d.Release()
	k.wantData(4096, 1)
	k.eof()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Remove ends an export's clients and leaves those of others.
func TestRemove(t *testing.T) {
	a, b := ram(t, nbdtest.Disk(mib)), ram(t, nbdtest.Disk(mib))
	s := serve(t, nbd.Config{}, nbd.Export{Name: "a", Backend: a}, nbd.Export{Name: "b", Backend: b})
	ka, kb := s.dial(t), s.dial(t)
	ka.enter("a", simple)
	kb.enter("b", simple)
	if err := s.Remove(context.Background(), "a"); err != nil {
		t.Fatal(err)
	}
	ka.eof()
	if a.Regions() != 0 {
		t.Error("memory is still registered")
	}
	kb.request(0, flush, 1, 0, 0)
	kb.want(0, 1)
	if err := s.Remove(context.Background(), "a"); err == nil {
		t.Error("removed twice")
	}
}

func TestTCP(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib))
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: d})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(limit))
	k := &client{TB: t, Conn: nc}
	k.enter("x", simple)
	k.request(0, read, 1, 0, 256<<10)
	k.wantData(256<<10, 1)
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestURI(t *testing.T) {
	for _, c := range []struct {
		addr net.Addr
		name string
		want string
	}{
		{&net.UnixAddr{Name: "/run/a b+c.sock", Net: "unix"}, "disk 0/x", "nbd+unix:///disk%200%2Fx?socket=/run/a%20b%2Bc.sock"},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 10809}, "x", "nbd://[::1]:10809/x"},
	} {
		if got := nbd.URI(c.addr, c.name); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
