package psk

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// Data of all lengths go both ways, with padding and empty records among them, and end with a word.
func TestData(t *testing.T) {
	c, s := open(t)
	sent := bytes.Repeat([]byte("0123456789"), 5000)
	go func() {
		for _, k := range []int{0, 1, 2, 5000, maxPlain, 7} {
			c.send(kindData, sent[:k])
		}
		c.send(kindAlert, []byte{1, byte(alertUserCanceled)})
		c.send(kindAlert, []byte{1, byte(alertCloseNotify)})
	}()
	var want []byte
	for _, k := range []int{1, 2, 5000, maxPlain, 7} {
		want = append(want, sent[:k]...)
	}
	got, err := io.ReadAll(s)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes of %d, %v", len(got), len(want), err)
	}
	for range 2 {
		if n, err := s.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%d, %v", n, err)
		}
	}
	if n, err := s.Write(sent); n != len(sent) || err != nil {
		t.Fatal(n, err)
	}
	if got := c.readAll(len(sent)); !bytes.Equal(got, sent) {
		t.Error("the client gets something else")
	}
	if err := s.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if a := c.alert(); a != alertCloseNotify {
		t.Error(a)
	}
	if _, err := s.Write(sent); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	if err := s.CloseWrite(); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// rekey sends a key update.
func (c *testClient) rekey(kind byte) {
	c.Helper()
	c.send(kindHandshake, []byte{typeKeyUpdate, 0, 0, 1, kind})
	c.out.keys.update()
}

// wantRekey reads one.
func (c *testClient) wantRekey() {
	c.Helper()
	k, body, err := c.in.record()
	if err != nil || k != kindHandshake || !bytes.Equal(body, []byte{typeKeyUpdate, 0, 0, 1, 0}) {
		c.Fatalf("record of type %d, %x, %v; want a key update", k, body, err)
	}
	c.in.keys.update()
}

// Keys change when the client does so, when it asks for it, and after enough records.
func TestKeyUpdate(t *testing.T) {
	c, s := open(t)
	b := make([]byte, 1)
	read := func(want byte) {
		t.Helper()
		if n, err := s.Read(b); n != 1 || err != nil || b[0] != want {
			t.Fatalf("%d, %v, %q", n, err, b)
		}
	}
	c.rekey(0)
	c.send(kindData, []byte("a"))
	read('a')
	// Asked for three times: once is enough.
	for range 3 {
		c.rekey(1)
	}
	c.send(kindData, []byte("b"))
	read('b')
	write := func() {
		t.Helper()
		if _, err := s.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	write()
	c.wantRekey()
	c.readAll(1)
	write()
	c.readAll(1)
	s.out.keys.seq, c.in.keys.seq = rekeyAfter-1, rekeyAfter-1
	write()
	c.readAll(1)
	write()
	c.wantRekey()
	c.readAll(1)
	// In pieces.
	c.send(kindHandshake, []byte{typeKeyUpdate, 0})
	c.send(kindHandshake, []byte{0, 1, 0})
	c.out.keys.update()
	c.send(kindData, []byte("c"))
	read('c')
}

// What a client may not send once there are keys.
func TestRecordsRefused(t *testing.T) {
	for _, x := range []struct {
		name string
		send func(c *testClient)
		want Alert
	}{
		{"plain data", func(c *testClient) { c.plain(kindHandshake, []byte("x")) }, alertUnexpectedMessage},
		{"plain alert", func(c *testClient) { c.plain(kindAlert, []byte{2, 0}) }, alertUnexpectedMessage},
		{"dummy", func(c *testClient) { c.plain(kindChangeCipher, []byte{1}) }, alertUnexpectedMessage},
		{"unknown type", func(c *testClient) { c.plain(99, []byte("x")) }, alertUnexpectedMessage},
		{"inner dummy", func(c *testClient) { c.send(kindChangeCipher, []byte{1}) }, alertUnexpectedMessage},
		{"padding alone", func(c *testClient) { c.send(0, nil) }, alertUnexpectedMessage},
		{"damaged", func(c *testClient) { c.plain(kindData, make([]byte, 100)) }, alertBadRecordMAC},
		{"long", func(c *testClient) { _, _ = c.nc.Write([]byte{23, 3, 3, 0x41, 1}) }, alertRecordOverflow},
		{"long inside", func(c *testClient) { c.send(kindData, make([]byte, maxPlain+1)) }, alertRecordOverflow},
		{"hello", func(c *testClient) { m, _ := c.hello.marshal(t, nil); c.send(kindHandshake, m) }, alertUnexpectedMessage},
		{"ticket", func(c *testClient) { c.send(kindHandshake, []byte{4, 0, 0, 0}) }, alertUnexpectedMessage},
		{"empty handshake", func(c *testClient) { c.send(kindHandshake, nil) }, alertUnexpectedMessage},
		{"update of kind 2", func(c *testClient) { c.rekey(2) }, alertIllegalParameter},
		{"long update", func(c *testClient) { c.send(kindHandshake, []byte{typeKeyUpdate, 0, 0, 2, 0}) }, alertDecodeError},
		{"two in a record", func(c *testClient) {
			c.send(kindHandshake, []byte{typeKeyUpdate, 0, 0, 1, 0, typeKeyUpdate, 0, 0, 1, 0})
		}, alertUnexpectedMessage},
		{"data in an update", func(c *testClient) { c.send(kindHandshake, []byte{typeKeyUpdate}); c.send(kindData, []byte("x")) }, alertUnexpectedMessage},
		{"alert in an update", func(c *testClient) { c.send(kindHandshake, []byte{typeKeyUpdate}); c.send(kindAlert, []byte{1, 0}) }, alertUnexpectedMessage},
		{"long alert", func(c *testClient) { c.send(kindAlert, []byte{1, 0, 0}) }, alertDecodeError},
		{"updates for ever", func(c *testClient) {
			for range maxIdle + 1 {
				c.rekey(1)
			}
		}, alertUnexpectedMessage},
		{"nothing for ever", func(c *testClient) {
			for range maxIdle + 1 {
				c.send(kindData, nil)
			}
		}, alertUnexpectedMessage},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, s := open(t)
			x.send(c)
			var e *Error
			for range 2 {
				if n, err := s.Read(make([]byte, 9)); n != 0 || !errors.As(err, &e) || e.Alert != x.want {
					t.Errorf("%d, %v; want %v", n, err, x.want)
				}
			}
			if a := c.alert(); a != x.want {
				t.Errorf("the client is told %v", a)
			}
			if _, err := s.Write([]byte("x")); !errors.Is(err, errClosed) {
				t.Errorf("writing on: %v", err)
			}
		})
	}
}

// Ends without a word, and with one that is not the end.
func TestEnds(t *testing.T) {
	c, s := open(t)
	c.send(kindAlert, []byte{2, byte(alertInternalError)})
	var e *RemoteError
	if _, err := s.Read(make([]byte, 1)); !errors.As(err, &e) || e.Alert != alertInternalError || e.Error() != "client says: internal_error" {
		t.Error(err)
	}
	for _, part := range []int{0, 3, 30} {
		c, s := open(t)
		b := append([]byte{23, 3, 3, 0, 100}, make([]byte, 100)...)
		if _, err := c.nc.Write(b[:part]); err != nil {
			t.Fatal(err)
		}
		_ = c.nc.(*net.TCPConn).CloseWrite()
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes of a record: %v", part, err)
		}
	}
}

// A time-out of the socket leaves the connection where it was.
func TestReadDeadline(t *testing.T) {
	c, s := open(t)
	nc := s.in.src.(net.Conn)
	c.out.mu.Lock()
	c.out.sealLocked(kindData, []byte("hello"))
	b := c.out.buf
	c.out.buf = nil
	c.out.mu.Unlock()
	for _, k := range []int{0, 3, 5, 9, len(b) - 1} {
		for s.in.have < k { // all that has been sent is there
			_ = nc.SetReadDeadline(time.Now().Add(limit))
			if err := s.in.fill(k); err != nil {
				t.Fatal(err)
			}
		}
		_ = nc.SetReadDeadline(time.Unix(1, 0))
		if _, err := s.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("after %d bytes: %v", k, err)
		}
		next := map[int]int{0: 3, 3: 5, 5: 9, 9: len(b) - 1, len(b) - 1: len(b)}[k]
		if _, err := c.nc.Write(b[k:next]); err != nil {
			t.Fatal(err)
		}
	}
	_ = nc.SetReadDeadline(time.Now().Add(limit))
	got := make([]byte, 9)
	if n, err := s.Read(got); err != nil || string(got[:n]) != "hello" {
		t.Errorf("%q, %v", got[:n], err)
	}
}

// Nothing is allocated for data.
func TestAllocations(t *testing.T) {
	_, s := open(t)
	var sink bytes.Buffer
	sink.Grow(1 << 24)
	s.out.dst = &sink
	b := make([]byte, 4096)
	if n := testing.AllocsPerRun(100, func() {
		sink.Reset()
		if _, err := s.Write(b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a write allocates %v times", n)
	}
	var in outbound
	in.dst = &sink
	in.keys.set(s.in.keys.secret)
	sink.Reset()
	const records = 200
	for range records {
		in.sealLocked(kindData, b)
		if err := in.flushLocked(); err != nil {
			t.Fatal(err)
		}
	}
	s.in.src = &sink
	if n := testing.AllocsPerRun(records-2, func() {
		if _, err := io.ReadFull(s, b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a read allocates %v times", n)
	}
}
