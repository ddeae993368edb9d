package psk

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// script is a socket whose other end has said all it has to say.
type script struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (s *script) Read(b []byte) (int, error)       { return s.in.Read(b) }
func (s *script) Write(b []byte) (int, error)      { return s.out.Write(b) }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) Close() error                     { return nil }

// addHellos adds hellos that are right, and nearly.
func addHellos(f *testing.F) {
	f.Helper()
	f.Add(unhex(f, helloRFC8448+"002120"+binderRFC8448))
	for _, h := range []func(h *hello){
		func(*hello) {}, func(h *hello) { h.noPSK = true }, func(h *hello) { h.session = nil }, func(h *hello) { h.cut = 3 },
		func(h *hello) { h.shares = []byte{} }, func(h *hello) { h.behind = extension(21, nil) },
		func(h *hello) { h.identities, h.keys = []string{"x", "alice"}, []string{testKey, testKey} },
	} {
		c := newTestClient(f, nil)
		h(&c.hello)
		msg, _ := c.hello.marshal(f, nil)
		f.Add(msg)
	}
}

// What is decoded as a ClientHello crypto/tls takes for the same one.
func FuzzClientHello(f *testing.F) {
	addHellos(f)
	errSeen := errors.New("seen")
	f.Fuzz(func(t *testing.T, msg []byte) {
		if len(msg) < messageHeader || len(msg) > maxMessage {
			return
		}
		msg[0], msg[1], msg[2], msg[3] = typeClientHello, 0, byte((len(msg)-messageHeader)>>8), byte(len(msg)-messageHeader)
		h, err := parseHello(msg)
		var e *Error
		if err != nil {
			if !errors.As(err, &e) || h != nil {
				t.Fatalf("%v, %v", h, err)
			}
			return
		}
		if n := h.bindersSize(); h.identities != nil && (n >= len(msg) || !bytes.HasSuffix(msg, h.binders[len(h.binders)-1])) {
			t.Fatalf("binders of %d bytes at the end of %d", n, len(msg))
		}
		if len(h.versions) == 0 || !slices.Contains(h.versions, tls.VersionTLS13) {
			return // it goes by the old field then
		}
		var theirs *tls.ClientHelloInfo
		s := &script{in: bytes.NewReader(append([]byte{byte(kindHandshake), 3, 1, byte(len(msg) >> 8), byte(len(msg))}, msg...))}
		err = tls.Server(s, &tls.Config{GetConfigForClient: func(i *tls.ClientHelloInfo) (*tls.Config, error) {
			theirs = i
			return nil, errSeen
		}}).Handshake()
		switch {
		case theirs == nil:
			t.Skip("it looks at extensions that we do not: ", err)
		case !slices.Equal(h.suites, theirs.CipherSuites), !slices.Equal(h.versions, theirs.SupportedVersions):
			t.Fatalf("suites %x, versions %x; crypto/tls has %x, %x", h.suites, h.versions, theirs.CipherSuites, theirs.SupportedVersions)
		case len(h.groups) != len(theirs.SupportedCurves):
			t.Fatalf("groups %x, crypto/tls has %x", h.groups, theirs.SupportedCurves)
		}
		for i, g := range h.groups {
			if uint16(theirs.SupportedCurves[i]) != g {
				t.Fatalf("groups %x, crypto/tls has %x", h.groups, theirs.SupportedCurves)
			}
		}
	})
}

// Whatever comes, a handshake ends with an error, and an alert behind what was said, if it is the client's fault.
func FuzzServer(f *testing.F) {
	c := newTestClient(f, nil)
	msg, _ := c.hello.marshal(f, nil)
	record := func(k kind, b []byte) []byte {
		return append([]byte{byte(k), 3, 1, byte(len(b) >> 8), byte(len(b))}, b...)
	}
	f.Add(record(kindHandshake, msg))
	f.Add(append(record(kindHandshake, msg), record(kindChangeCipher, []byte{1})...))
	f.Add(append(record(kindHandshake, msg), record(kindData, make([]byte, 60))...))
	f.Add(append(record(kindHandshake, msg[:40]), record(kindHandshake, msg[40:])...))
	f.Add(append(record(kindHandshake, msg), record(kindAlert, []byte{2, 40})...))
	c.hello.shares = []byte{}
	msg, _ = c.hello.marshal(f, nil)
	f.Add(append(record(kindHandshake, msg), record(kindHandshake, msg)...))
	keys := testKeys(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &script{in: bytes.NewReader(b)}
		conn, err := Server(context.Background(), s, keys)
		var e *Error
		switch {
		case err == nil || conn != nil:
			t.Fatal("there is a connection")
		case s.out.Len() > 1024:
			t.Fatalf("the server says %d bytes", s.out.Len())
		case errors.As(err, &e) && s.out.Len() < headerSize+2:
			t.Fatalf("%v, and the client is told nothing: %x", err, s.out.Bytes())
		}
	})
}

// Records with any content: data come out as they were, and what is refused is refused for good.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("\x17\x05hello\x16\x05\x18\x00\x00\x01\x01\x17\x02xy\x15\x02\x01\x00"))
	f.Add([]byte("\x17\x00\x16\x02\x18\x00\x16\x03\x00\x01\x00\x17\x01z"))
	f.Add([]byte("\x15\x02\x02\x28"))
	f.Add([]byte("\x16\x05\x18\x00\x00\x01\x00"))
	f.Add([]byte("\x00\x03abc\x14\x01\x01"))
	secret := extract(zeros, zeros)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &script{}
		var stream bytes.Buffer
		o := outbound{dst: &stream}
		o.keys.set(secret)
		var want []byte
		for len(b) >= 2 {
			k, n := kind(b[0]), min(int(b[1]), len(b)-2)
			content := b[2 : 2+n]
			b = b[2+n:]
			o.sealLocked(k, content)
			if k == 0 { // padding, behind a type
				if content = bytes.TrimRight(content, "\x00"); len(content) > 0 {
					k, content = kind(content[len(content)-1]), content[:len(content)-1]
				}
			}
			if k == kindHandshake && bytes.HasPrefix(content, []byte{typeKeyUpdate, 0, 0, 1}) && len(content) == 5 && content[4] < 2 {
				o.keys.update()
			}
			if k == kindData {
				want = append(want, content...)
			}
		}
		if err := o.flushLocked(); err != nil {
			t.Fatal(err)
		}
		s.in = &stream
		c := newConn(s)
		c.in.keys.set(secret)
		c.out.keys.set(secret)
		c.in.open = true
		got, err := io.ReadAll(c)
		if !bytes.HasPrefix(want, got) {
			t.Fatalf("%q comes out of %q", got, want)
		}
		if _, again := c.Read(make([]byte, 1)); err != nil && !errors.Is(again, err) {
			t.Fatalf("%v, then %v", err, again)
		}
	})
}
