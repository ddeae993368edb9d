package psk

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Hellos that are let in: other groups, other orders, an identity among others, pieces of any size.
func TestHandshake(t *testing.T) {
	big := bytes.Repeat([]byte{1}, 60000)
	for name, prepare := range map[string]func(c *testClient){
		"as it is":   func(*testClient) {},
		"P-256":      func(c *testClient) { c.newShare(23, ecdh.P256()) },
		"no session": func(c *testClient) { c.hello.session = nil },
		"second": func(c *testClient) {
			c.hello.identities, c.hello.keys = []string{"x", "alice"}, []string{testKey, testKey}
		},
		"extensions":     func(c *testClient) { c.hello.extra = extension(0xfafa, big[:9000]) },
		"only the suite": func(c *testClient) { c.hello.suites = []uint16{suiteAES128GCM} },
		"other shares":   func(c *testClient) { c.hello.shares = append(share(24, big[:97]), c.hello.shares...) },
		"retry P-256": func(c *testClient) {
			c.hello.groups = []uint16{24, 23}
			c.hello.shares = share(24, big[:97])
			if err := c.start(); !errors.Is(err, errRetry) {
				t.Fatalf("answer to a hello with no share for us: %v", err)
			}
			c.newShare(23, ecdh.P256())
		},
		"retry, no share": func(c *testClient) {
			c.hello.shares = []byte{}
			if err := c.start(); !errors.Is(err, errRetry) {
				t.Fatalf("answer to a hello with no share for us: %v", err)
			}
			c.newShare(29, ecdh.X25519())
		},
	} {
		t.Run(name, func(t *testing.T) {
			nc, done := serve(t, testKeys(t))
			c := newTestClient(t, nc)
			prepare(c)
			if err := c.start(); err != nil {
				t.Fatal(err)
			}
			c.ready()
			r := <-done
			if r.err != nil || r.c.Identity() != "alice" {
				t.Fatalf("%+v", r)
			}
		})
	}
}

// A hello and a Finished in records of one byte each.
func TestFragments(t *testing.T) {
	nc, done := serve(t, testKeys(t))
	c := newTestClient(t, nc)
	msg, early := c.hello.marshal(t, nil)
	c.early, c.transcript = early, msg
	for _, b := range msg {
		c.plain(kindHandshake, []byte{b})
	}
	if err := c.hear(); err != nil {
		t.Fatal(err)
	}
	for _, b := range c.finished() {
		c.send(kindHandshake, []byte{b})
	}
	if r := <-done; r.err != nil {
		t.Error(r.err)
	}
}

// What is wrong with a hello is said to both sides.
func TestHelloRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(h *hello)
		want    Alert
	}{
		{"nobody", func(h *hello) { h.identities = []string{"eve"} }, alertDecryptError},
		{"another's key", func(h *hello) { h.identities = []string{"bob"} }, alertDecryptError},
		{"no key", func(h *hello) { h.noPSK = true }, alertHandshakeFailure},
		{"TLS 1.2", func(h *hello) { h.versions = []uint16{0x0303} }, alertProtocolVersion},
		{"no versions", func(h *hello) { h.versions = nil }, alertProtocolVersion},
		{"other suites", func(h *hello) { h.suites = []uint16{0x1302, 0x1303} }, alertHandshakeFailure},
		{"no suites", func(h *hello) { h.suites = nil }, alertDecodeError},
		{"no modes", func(h *hello) { h.modes = nil }, alertMissingExtension},
		{"key alone", func(h *hello) { h.modes = []byte{0} }, alertHandshakeFailure},
		{"no groups", func(h *hello) { h.groups = nil }, alertMissingExtension},
		{"other groups", func(h *hello) { h.groups, h.shares = []uint16{24}, share(24, []byte{1}) }, alertHandshakeFailure},
		{"no shares", func(h *hello) { h.shares = nil }, alertMissingExtension},
		{"share of no group", func(h *hello) { h.groups = []uint16{23} }, alertIllegalParameter},
		{"two shares", func(h *hello) { h.shares = append(h.shares, h.shares...) }, alertIllegalParameter},
		{"empty share", func(h *hello) { h.shares = share(29, nil) }, alertDecodeError},
		{"short share", func(h *hello) { h.shares = share(29, make([]byte, 31)) }, alertIllegalParameter},
		{"zero share", func(h *hello) { h.shares = share(29, make([]byte, 32)) }, alertIllegalParameter},
		{"no point", func(h *hello) { h.shares = share(23, append([]byte{4}, make([]byte, 64)...)) }, alertIllegalParameter},
		{"compression", func(h *hello) { h.compression = []byte{1, 0} }, alertIllegalParameter},
		{"no compression", func(h *hello) { h.compression = nil }, alertIllegalParameter},
		{"long session", func(h *hello) { h.session = make([]byte, 33) }, alertDecodeError},
		{"short random", func(h *hello) { h.random = h.random[1:] }, alertDecodeError},
		{"early data", func(h *hello) { h.extra = extension(extEarlyData, nil) }, alertUnsupported},
		{"twice", func(h *hello) { h.extra = extension(extModes, []byte{1, 1}) }, alertIllegalParameter},
		{"behind", func(h *hello) { h.behind = extension(21, nil) }, alertIllegalParameter},
		{"too many keys", func(h *hello) { h.identities = []string{"alice", ""} }, alertDecodeError},
		{"too long", func(h *hello) { h.extra = extension(21, make([]byte, maxMessage)) }, alertDecodeError},
	} {
		t.Run(c.name, func(t *testing.T) {
			nc, done := serve(t, testKeys(t))
			k := newTestClient(t, nc)
			c.prepare(&k.hello)
			msg, _ := k.hello.marshal(t, nil)
			for len(msg) > 0 {
				n := min(len(msg), maxPlain)
				k.plain(kindHandshake, msg[:n])
				msg = msg[n:]
			}
			if a := k.alert(); a != c.want {
				t.Errorf("the server says %v, want %v", a, c.want)
			}
			var e *Error
			if r := <-done; !errors.As(r.err, &e) || e.Alert != c.want || strings.Contains(e.What, "%!") {
				t.Errorf("%v", r.err)
			}
		})
	}
}

// A client cannot tell an identity that nobody has from a key that is wrong, with or without a retry.
func TestUnknownIdentity(t *testing.T) {
	talk := func(id string, retry bool) string {
		nc, done := serve(t, testKeys(t))
		c := newTestClient(t, nc)
		c.hello.identities, c.hello.keys = []string{id}, []string{"ee" + testKey}
		if retry {
			c.hello.shares = []byte{}
		}
		msg, _ := c.hello.marshal(t, nil)
		c.plain(kindHandshake, msg)
		if retry {
			c.newShare(29, ecdh.X25519())
			msg, _ := c.hello.marshal(t, nil)
			c.plain(kindHandshake, msg)
		}
		all, err := io.ReadAll(nc)
		if err != nil {
			t.Fatal(err)
		}
		if r := <-done; r.err == nil {
			t.Fatalf("%s is let in", id)
		}
		return string(all)
	}
	for _, retry := range []bool{false, true} {
		if a, b := talk("alice", retry), talk("Alice", retry); a != b || !strings.HasSuffix(a, "\x15\x03\x03\x00\x02\x02\x33") {
			t.Errorf("a wrong key gets %x, nobody %x", a, b)
		}
	}
}

// The second hello has to be the first with one other share.
func TestSecondHello(t *testing.T) {
	for name, change := range map[string]func(c *testClient){
		"random":  func(c *testClient) { c.hello.random = make([]byte, 32) },
		"session": func(c *testClient) { c.hello.session = nil },
		"suites":  func(c *testClient) { c.hello.suites = []uint16{suiteAES128GCM} },
		"groups":  func(c *testClient) { c.hello.groups = []uint16{29} },
		"group":   func(c *testClient) { c.newShare(23, ecdh.P256()) },
		"none":    func(c *testClient) { c.hello.shares = []byte{} },
	} {
		t.Run(name, func(t *testing.T) {
			nc, done := serve(t, testKeys(t))
			c := newTestClient(t, nc)
			c.hello.shares = []byte{}
			if err := c.start(); !errors.Is(err, errRetry) {
				t.Fatal(err)
			}
			c.newShare(29, ecdh.X25519())
			change(c)
			if err := c.start(); err == nil {
				t.Error("the server goes on")
			}
			var e *Error
			if r := <-done; !errors.As(r.err, &e) || e.Alert != alertIllegalParameter {
				t.Errorf("%v", r.err)
			}
		})
	}
}

// Records that have no place in a handshake.
func TestHandshakeRecords(t *testing.T) {
	hello := func(c *testClient) []byte { msg, _ := c.hello.marshal(t, nil); return msg }
	for _, c := range []struct {
		name string
		send func(c *testClient)
		want Alert
	}{
		{"not TLS", func(c *testClient) { _, _ = c.nc.Write([]byte("GET / HTTP/1.1\r\n\r\n")) }, alertUnexpectedMessage},
		{"data", func(c *testClient) { c.plain(kindData, []byte("x")) }, alertUnexpectedMessage},
		{"too long", func(c *testClient) { _, _ = c.nc.Write([]byte{22, 3, 3, 0x40, 1}) }, alertRecordOverflow},
		{"nothing", func(c *testClient) { c.plain(kindHandshake, nil) }, alertUnexpectedMessage},
		{"dummy first", func(c *testClient) { c.plain(kindChangeCipher, []byte{1}) }, alertUnexpectedMessage},
		{"wrong dummy", func(c *testClient) { c.plain(kindHandshake, hello(c)); c.plain(kindChangeCipher, []byte{2}) }, alertUnexpectedMessage},
		{"dummies", func(c *testClient) {
			c.plain(kindHandshake, hello(c))
			for range maxIdle + 1 {
				c.plain(kindChangeCipher, []byte{1})
			}
		}, alertUnexpectedMessage},
		{"two hellos", func(c *testClient) { m := hello(c); c.plain(kindHandshake, append(m, m...)) }, alertUnexpectedMessage},
		{"dummy between", func(c *testClient) {
			c.plain(kindHandshake, hello(c)[:9])
			c.plain(kindChangeCipher, []byte{1})
		}, alertUnexpectedMessage},
		{"Finished first", func(c *testClient) { c.plain(kindHandshake, []byte{typeFinished, 0, 0, 0}) }, alertUnexpectedMessage},
		{"plain Finished", func(c *testClient) {
			c.plain(kindHandshake, hello(c))
			c.plain(kindHandshake, append([]byte{typeFinished, 0, 0, hashSize}, zeros...))
		}, alertUnexpectedMessage},
		{"damaged", func(c *testClient) { c.plain(kindHandshake, hello(c)); c.plain(kindData, make([]byte, 50)) }, alertBadRecordMAC},
		{"short", func(c *testClient) { c.plain(kindHandshake, hello(c)); c.plain(kindData, make([]byte, 5)) }, alertBadRecordMAC},
	} {
		t.Run(c.name, func(t *testing.T) {
			nc, done := serve(t, testKeys(t))
			c.send(newTestClient(t, nc))
			var e *Error
			if r := <-done; !errors.As(r.err, &e) || e.Alert != c.want {
				t.Errorf("%v, want %v", r.err, c.want)
			}
		})
	}
}

// A wrong Finished, and clients that give up.
func TestHandshakeEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(c *testClient)
		want func(err error) bool
	}{
		{"wrong", func(c *testClient) {
			f := c.finished()
			f[10] ^= 1
			c.send(kindHandshake, f)
		}, func(err error) bool { var e *Error; return errors.As(err, &e) && e.Alert == alertDecryptError }},
		{"short", func(c *testClient) { c.send(kindHandshake, []byte{typeFinished, 0, 0, 1, 1}) },
			func(err error) bool { var e *Error; return errors.As(err, &e) && e.Alert == alertDecryptError }},
		{"alert", func(c *testClient) { c.send(kindAlert, []byte{2, 51}) },
			func(err error) bool { var e *RemoteError; return errors.As(err, &e) && e.Alert == alertDecryptError }},
		{"plain alert", func(c *testClient) { c.plain(kindAlert, []byte{2, 47}) },
			func(err error) bool {
				var e *RemoteError
				return errors.As(err, &e) && e.Alert == alertIllegalParameter
			}},
		{"half an alert", func(c *testClient) { c.send(kindAlert, []byte{2}) },
			func(err error) bool { var e *Error; return errors.As(err, &e) && e.Alert == alertDecodeError }},
		{"close", func(c *testClient) { c.send(kindAlert, []byte{1, 90}); c.send(kindAlert, []byte{1, 0}) },
			func(err error) bool { return errors.Is(err, io.EOF) }},
		{"gone", func(c *testClient) { _ = c.nc.(*net.TCPConn).CloseWrite() },
			func(err error) bool { return errors.Is(err, io.EOF) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			nc, done := serve(t, testKeys(t))
			k := newTestClient(t, nc)
			if err := k.start(); err != nil {
				t.Fatal(err)
			}
			c.send(k)
			if r := <-done; !c.want(r.err) {
				t.Errorf("%v", r.err)
			}
		})
	}
}

// The handshake ends with its context, and with a deadline of the socket.
func TestHandshakeTime(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { _, err := Server(ctx, server, testKeys(t)); done <- err }()
	if _, err := client.Write([]byte{22, 3}); err != nil { // it is waiting for the rest
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_ = server.SetDeadline(time.Unix(1, 0))
	var ne net.Error
	if _, err := Server(context.Background(), server, testKeys(t)); !errors.As(err, &ne) || !ne.Timeout() {
		t.Error(err)
	}
}
