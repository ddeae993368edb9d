package nbd

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel looks after TCP clients that are cut off, in the times that are documented.
func TestKeepAlive(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		d    time.Duration
		want map[int]int
	}{
		{60 * time.Second, map[int]int{unix.TCP_KEEPIDLE: 60, unix.TCP_KEEPINTVL: 10, unix.TCP_KEEPCNT: 6, unix.TCP_USER_TIMEOUT: 120000, unix.TCP_NODELAY: 1}},
		{2 * time.Second, map[int]int{unix.TCP_KEEPIDLE: 2, unix.TCP_KEEPINTVL: 1, unix.TCP_USER_TIMEOUT: 4000}},
		{-1, map[int]int{unix.TCP_USER_TIMEOUT: 0}},
	} {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := keepAlive(nc, c.d); err != nil {
			t.Fatal(err)
		}
		raw, err := nc.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		for option, want := range c.want {
			got := 0
			if cerr := raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option) }); cerr != nil || err != nil {
				t.Fatal(cerr, err)
			}
			if got != want {
				t.Errorf("%v: option %d is %d, want %d", c.d, option, got, want)
			}
		}
		_ = nc.Close()
	}
}

// A repeated record is counted for 10 s, then said with its count.
func TestSuppressor(t *testing.T) {
	var u suppressor
	start := time.Unix(1000, 0)
	for _, c := range []struct {
		at time.Duration
		n  uint64
		ok bool
	}{
		{0, 0, true}, {time.Second, 0, false}, {suppressTime - 1, 0, false}, {suppressTime, 2, true},
		{suppressTime + 1, 0, false}, {3 * suppressTime, 1, true}, {5 * suppressTime, 0, true},
	} {
		if n, ok := u.ask(start.Add(c.at)); n != c.n || ok != c.ok {
			t.Errorf("after %v: %d, %t; want %d, %t", c.at, n, ok, c.n, c.ok)
		}
	}
}

// IdleTimeout to the nanosecond, and never with a request under way.
func TestEndIdle(t *testing.T) {
	s := &Server{cfg: Config{IdleTimeout: time.Minute}, conns: map[*session]struct{}{}}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	c := &session{nc: a, conn: &conn{nc: a, log: slog.New(slog.DiscardHandler)}}
	s.conns[c] = struct{}{}
	s.conns[&session{}] = struct{}{} // negotiates
	start := time.Unix(1000, 0)
	for _, x := range []struct {
		at                 time.Duration
		submitted, retired uint64
		ended              bool
	}{
		{0, 0, 0, false},
		{time.Minute - 1, 0, 0, false},
		{time.Minute - 1, 5, 4, false}, // busy
		{3 * time.Minute, 5, 4, false},
		{4 * time.Minute, 5, 5, false}, // done by now: the time begins
		{5*time.Minute - 1, 5, 5, false},
		{5*time.Minute - 1, 9, 9, false}, // active in between
		{6*time.Minute - 2, 9, 9, false},
		{6*time.Minute - 1, 9, 9, true},
	} {
		c.conn.submitted.Store(x.submitted)
		c.conn.retired.Store(x.retired)
		s.endIdle(start.Add(x.at))
		if got := c.conn.stopping.Load(); got != x.ended {
			t.Fatalf("after %v: ended %t", x.at, got)
		}
	}
}
