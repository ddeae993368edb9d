package nbd_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/cmd/srpd/socket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 2 * time.Minute // longest that a test waits for anything

// server is a server on a unix socket with its log.
type server struct {
	*nbd.Server
	path string
	log  *logBuffer

	also []chan error // results of further Serve calls

	readUntil, writeUntil atomic.Int64 // deadlines that a socket was given last, in ns since 1970; 0 is none

	failing bool // Shutdown may report an error
}

// watched is a listener whose sockets tell the server what deadlines they are given.
type watched struct {
	net.Listener
	s *server
}

func (w *watched) Accept() (net.Conn, error) {
	nc, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &watchedConn{nc.(*net.UnixConn), w.s}, nil
}

type watchedConn struct {
	*net.UnixConn
	s *server
}

func (w *watchedConn) SetReadDeadline(t time.Time) error {
	w.s.readUntil.Store(nanoseconds(t))
	return w.UnixConn.SetReadDeadline(t)
}

func (w *watchedConn) SetWriteDeadline(t time.Time) error {
	w.s.writeUntil.Store(nanoseconds(t))
	return w.UnixConn.SetWriteDeadline(t)
}

// nanoseconds makes a number of a time, so that nothing is allocated where a test counts allocations.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// testDisk is a *nbdtest.RAM, or has one.
type testDisk interface {
	Release()
	Regions() int64
}

// ram makes a disk that is closed after the server.
func ram(t testing.TB, info nbd.Info, opts ...nbdtest.Option) *nbdtest.RAM {
	t.Helper()
	d := nbdtest.NewRAM(info, opts...)
	t.Cleanup(d.Close)
	return d
}

// serve starts a server; disks are to be made before it.
func serve(t testing.TB, cfg nbd.Config, exports ...nbd.Export) *server {
	t.Helper()
	log := &logBuffer{}
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	s, err := nbd.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exports {
		if err := s.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := socket.ListenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	srv := &server{Server: s, path: path, log: log}
	go func() { done <- s.Serve(&watched{l, srv}) }()
	t.Cleanup(func() {
		if t.Failed() {
			for _, e := range exports {
				if d, ok := e.Backend.(testDisk); ok {
					d.Release() // the test may have ended with it held
				}
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil && !srv.failing {
			t.Errorf("shutdown: %v", err)
		}
		for _, done := range append(srv.also, done) {
			if err := <-done; err != nil {
				t.Errorf("serve: %v", err)
			}
		}
		for _, e := range exports {
			if d, ok := e.Backend.(testDisk); ok && d.Regions() != 0 {
				t.Errorf("%d regions are still registered", d.Regions())
			}
		}
	})
	return srv
}

// client speaks the protocol in the open, or over TLS.
type client struct {
	testing.TB
	net.Conn
	style style // negotiated
}

// style is the form of requests and replies.
type style int

const (
	simple style = iota
	structured
	extended
)

func (y style) String() string { return [...]string{"simple", "structured", "extended"}[y] }

func (s *server) dial(t testing.TB) *client {
	t.Helper()
	nc, err := net.Dial("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(limit))
	return &client{TB: t, Conn: nc}
}

func (c *client) send(parts ...any) {
	c.Helper()
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		default:
			b, _ = binary.Append(b, binary.BigEndian, p)
		}
	}
	if _, err := c.Write(b); err != nil {
		c.Fatalf("send: %v", err)
	}
}

func (c *client) recv(n int) []byte {
	c.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		c.Fatalf("receive %d bytes: %v", n, err)
	}
	return b
}

// eof checks that the server has closed the connection and sent nothing more.
func (c *client) eof() {
	c.Helper()
	b, err := io.ReadAll(c)
	if err != nil || len(b) != 0 {
		c.Fatalf("wanted the end of the connection, got %x, %v", b, err)
	}
}

func (c *client) greet(flags uint32) {
	c.Helper()
	if got := string(c.recv(16)); got != "NBDMAGICIHAVEOPT" {
		c.Fatalf("greeting is %q", got)
	}
	if got := c.recv(2); got[0] != 0 || got[1] != 3 {
		c.Fatalf("handshake flags are %x, want 3", got)
	}
	c.send(flags)
}

func (c *client) option(opt uint32, data ...any) {
	c.Helper()
	var b bytes.Buffer
	sub := &client{TB: c.TB, Conn: discard{&b}}
	sub.send(data...)
	c.send("IHAVEOPT", opt, uint32(b.Len()), b.Bytes())
}

type discard struct{ *bytes.Buffer }

func (discard) Close() error                     { return nil }
func (discard) LocalAddr() net.Addr              { return nil }
func (discard) RemoteAddr() net.Addr             { return nil }
func (discard) SetDeadline(time.Time) error      { return nil }
func (discard) SetReadDeadline(time.Time) error  { return nil }
func (discard) SetWriteDeadline(time.Time) error { return nil }

// reply reads one option reply.
func (c *client) reply(opt uint32) (kind uint32, data []byte) {
	c.Helper()
	h := c.recv(20)
	if m := binary.BigEndian.Uint64(h); m != 0x3e889045565a9 {
		c.Fatalf("option reply has magic %#x", m)
	}
	if o := binary.BigEndian.Uint32(h[8:]); o != opt {
		c.Fatalf("reply is to option %d, want %d", o, opt)
	}
	return binary.BigEndian.Uint32(h[12:]), c.recv(int(binary.BigEndian.Uint32(h[16:])))
}

func (c *client) wantReply(opt, kind uint32) []byte {
	c.Helper()
	k, data := c.reply(opt)
	if k != kind {
		c.Fatalf("reply to option %d is %#x %q, want %#x", opt, k, data, kind)
	}
	return data
}

// enter negotiates up to transmission.
func (c *client) enter(name string, y style) (size uint64, flags uint16) {
	c.Helper()
	c.greet(3)
	c.agree(y)
	return c.start(name)
}

// agree negotiates a style.
func (c *client) agree(y style) {
	c.Helper()
	if opt := [...]uint32{0, 8, 11}[y]; opt != 0 {
		c.option(opt)
		c.wantReply(opt, 1)
	}
	c.style = y
}

// start enters transmission.
func (c *client) start(name string) (size uint64, flags uint16) {
	c.Helper()
	c.option(7, uint32(len(name)), name, uint16(0))
	for {
		k, d := c.reply(7)
		switch {
		case k == 1:
			return size, flags
		case k != 3:
			c.Fatalf("GO answers %#x %q", k, d)
		case d[1] == 0:
			size, flags = binary.BigEndian.Uint64(d[2:]), binary.BigEndian.Uint16(d[10:])
		}
	}
}

const (
	read = iota
	write
	disc
	flush
	trim
	cache
	zeroes
	blockStatus
	resize
)

const (
	fua    = 1
	noHole = 2
	df     = 4
	reqOne = 8
	fast   = 16
	hasPay = 32
)

func (c *client) request(flags, cmd uint16, cookie, offset, length uint64, data ...any) {
	c.Helper()
	if c.style == extended {
		if cmd == write {
			flags |= hasPay
		}
		c.send(append([]any{uint32(0x21e41c71), flags, cmd, cookie, offset, length}, data...)...)
		return
	}
	c.send(append([]any{uint32(0x25609513), flags, cmd, cookie, offset, uint32(length)}, data...)...)
}

// Kinds of replies: a reply without chunks is a none, as an extended one is.
const (
	kindNone      = 0
	kindData      = 1
	kindStatus    = 5
	kindStatusExt = 6
	kindError     = 1<<15 + 1
)

// answer is a reply.
type answer struct {
	kind   uint16
	errno  uint32
	cookie uint64
	offset uint64 // of an extended one
	data   []byte // without what comes before data
	at     uint64 // of kindData
	text   string // of kindError
}

// answer reads a reply. want is the data of a simple one without an error.
func (c *client) answer(want int) (a answer) {
	c.Helper()
	a, last := c.chunk(want)
	for !last {
		var b answer
		b, last = c.chunk(want)
		switch {
		case b.cookie != a.cookie:
			c.Fatalf("a chunk of the reply to %#x among those to %#x", b.cookie, a.cookie)
		case b.errno != 0:
			a.errno = b.errno
		case b.at == a.at+uint64(len(a.data)):
			a.data = append(a.data, b.data...)
		case b.at+uint64(len(b.data)) == a.at:
			a.at, a.data = b.at, append(b.data, a.data...)
		default:
			c.Fatalf("a chunk of %d bytes at %d after %d at %d", len(b.data), b.at, len(a.data), a.at)
		}
	}
	return a
}

// chunk reads a piece of a reply, and tells whether it is the last.
func (c *client) chunk(want int) (a answer, last bool) {
	c.Helper()
	n := 0
	h := c.recv(16)
	switch m := binary.BigEndian.Uint32(h); {
	case m == 0x67446698 && c.style != extended:
		a.errno, a.cookie = binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint64(h[8:])
		switch {
		case a.errno != 0 && c.style == structured:
			c.Fatalf("error %d without a chunk", a.errno)
		case a.errno != 0:
			a.kind = kindError
		case want > 0 && c.style == structured:
			c.Fatal("data without a chunk")
		case want > 0:
			a.kind, a.data = kindData, c.recv(want)
		}
		return a, true
	case m == 0x668e33ef && c.style == structured:
		n = int(binary.BigEndian.Uint32(c.recv(4)))
	case m == 0x6e8a278c && c.style == extended:
		rest := c.recv(16)
		a.offset, n = binary.BigEndian.Uint64(rest), int(binary.BigEndian.Uint64(rest[8:]))
	default:
		c.Fatalf("reply has magic %#x in style %v", m, c.style)
	}
	a.kind, a.cookie = binary.BigEndian.Uint16(h[6:]), binary.BigEndian.Uint64(h[8:])
	f := binary.BigEndian.Uint16(h[4:])
	if last = f == 1; !last && f != 0 {
		c.Fatalf("reply has flags %d", f)
	}
	b := c.recv(n)
	switch a.kind {
	case kindNone:
		if n != 0 {
			c.Fatalf("%d bytes of nothing", n)
		}
	case kindData:
		a.at, a.data = binary.BigEndian.Uint64(b), b[8:]
	case kindError:
		a.errno, a.text = binary.BigEndian.Uint32(b), string(b[6:])
		if k := binary.BigEndian.Uint16(b[4:]); int(k) != len(a.text) || k == 0 || a.errno == 0 {
			c.Fatalf("error %d with %d bytes of text, says the chunk: %q", a.errno, k, a.text)
		}
	default:
		a.data = b
	}
	return a, last
}

// want reads a reply without data.
func (c *client) want(errno uint32, cookie uint64) {
	c.Helper()
	if a := c.answer(0); a.errno != errno || a.cookie != cookie || errno == 0 && a.kind != kindNone {
		c.Fatalf("reply is error %d to cookie %#x, of kind %#x; want %d to %#x", a.errno, a.cookie, a.kind, errno, cookie)
	}
}

// wantData reads the reply to a read.
func (c *client) wantData(n int, cookie uint64) []byte {
	c.Helper()
	a := c.answer(n)
	if a.errno != 0 || a.cookie != cookie || a.kind != kindData || len(a.data) != n {
		c.Fatalf("reply is error %d to cookie %#x, of kind %#x, %d bytes; want data for %#x", a.errno, a.cookie, a.kind, len(a.data), cookie)
	}
	return a.data
}

// eventually waits for a condition that only other goroutines can bring about.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// pattern makes n bytes that differ from place to place.
func pattern(n int, seed byte) []byte {
	const period = 65521 // a prime, so that no two blocks are alike
	b := make([]byte, n)
	k := min(n, period)
	for i := range b[:k] {
		b[i] = byte(i) ^ byte(i>>8) ^ seed
	}
	for ; k > 0 && k < n; k *= 2 {
		copy(b[k:], b[:k])
	}
	return b
}
