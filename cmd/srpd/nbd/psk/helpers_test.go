package psk

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is when a test that hangs is given up.
const limit = 2 * time.Minute

const testKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

func testKeys(t testing.TB) *Keys {
	t.Helper()
	k, err := Parse([]byte("alice:" + testKey + "\nbob:" + "ff" + testKey + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// result is what Server returned.
type result struct {
	c   *Conn
	err error
}

// serve runs Server on one end of a socket and returns the other.
func serve(t testing.TB, keys *Keys) (net.Conn, <-chan result) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	sc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = nc.SetDeadline(time.Now().Add(limit))
	_ = sc.SetDeadline(time.Now().Add(limit))
	done := make(chan result, 1)
	go func() {
		c, err := Server(context.Background(), sc, keys)
		if err != nil {
			_ = sc.Close()
		}
		done <- result{c, err}
	}()
	t.Cleanup(func() { _ = sc.Close() })
	return nc, done
}

// testClient is a client of TLS 1.3 that can do everything wrong.
type testClient struct {
	testing.TB
	nc         net.Conn
	in         inbound
	out        outbound
	transcript []byte
	curve      ecdh.Curve
	share      *ecdh.PrivateKey

	// What its hello has.
	hello hello
	early secret
}

// hello is a ClientHello to be written. The zero values are left out.
type hello struct {
	random, session []byte
	suites          []uint16
	groups          []uint16
	versions        []uint16
	modes           []byte
	shares          []byte // with their lengths
	identities      []string
	keys            []string // in hexadecimal; as many
	extra           []byte   // extensions before pre_shared_key
	behind          []byte   // and behind it
	compression     []byte
	cut             int  // bytes to leave out at the end, with no length mended
	noPSK           bool // leaves the extension out
}

func newTestClient(t testing.TB, nc net.Conn) *testClient {
	c := &testClient{TB: t, nc: nc, curve: ecdh.X25519()}
	c.in.src, c.out.dst = nc, nc
	c.hello = hello{
		random: bytes.Repeat([]byte{7}, 32), session: bytes.Repeat([]byte{9}, 32),
		suites: []uint16{0x1302, 0x1303, suiteAES128GCM}, groups: []uint16{29, 23, 24}, versions: []uint16{0x0304, 0x0303},
		modes: []byte{1, 0}, identities: []string{"alice"}, keys: []string{testKey}, compression: []byte{0},
	}
	c.newShare(29, c.curve)
	return c
}

// newShare puts one share into the hello.
func (c *testClient) newShare(group uint16, curve ecdh.Curve) {
	c.Helper()
	k, err := curve.GenerateKey(rand.Reader)
	if err != nil {
		c.Fatal(err)
	}
	c.curve, c.share = curve, k
	c.hello.shares = share(group, k.PublicKey().Bytes())
}

func share(group uint16, key []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, group)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(key))), key...)
}

func prefix8(b []byte) []byte { return append([]byte{byte(len(b))}, b...) }
func prefix16(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
}

func numbers(all []uint16) (b []byte) {
	for _, n := range all {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	return b
}

// marshal writes the hello, with binders that are right for the keys.
func (h *hello) marshal(t testing.TB, before []byte) (msg []byte, early secret) {
	t.Helper()
	b := append([]byte{3, 3}, h.random...)
	b = append(b, prefix8(h.session)...)
	b = append(b, prefix16(numbers(h.suites))...)
	b = append(b, prefix8(h.compression)...)
	var x []byte
	if h.versions != nil {
		x = append(x, extension(extVersions, prefix8(numbers(h.versions)))...)
	}
	if h.groups != nil {
		x = append(x, extension(extGroups, prefix16(numbers(h.groups)))...)
	}
	if h.modes != nil {
		x = append(x, extension(extModes, prefix8(h.modes))...)
	}
	if h.shares != nil {
		x = append(x, extension(extKeyShare, prefix16(h.shares))...)
	}
	x = append(x, h.extra...)
	size := 0
	if !h.noPSK {
		var ids, binders []byte
		for _, id := range h.identities {
			ids = append(append(ids, prefix16([]byte(id))...), 1, 2, 3, 4)
			binders = append(binders, prefix8(make([]byte, hashSize))...)
		}
		binders = prefix16(binders)
		size = len(binders)
		x = append(x, extension(extPreSharedKey, append(prefix16(ids), binders...))...)
	}
	b = append(b, prefix16(append(x, h.behind...))...)
	msg = append([]byte{typeClientHello, 0, byte(len(b) >> 8), byte(len(b))}, b...)
	if !h.noPSK {
		at := len(msg) - len(h.behind) - size
		partial := sha256.Sum256(append(before[:len(before):len(before)], msg[:at]...))
		for i, k := range h.keys {
			e := extract(zeros, unhex(t, k))
			copy(msg[at+3+i*(1+hashSize):], binder(e, binderLabel, partial[:]))
			if early == nil {
				early = e
			}
		}
	}
	return msg[:len(msg)-h.cut], early
}

// send writes records of a kind.
func (c *testClient) send(k kind, content []byte) {
	c.Helper()
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.sealLocked(k, content)
	if err := c.out.flushLocked(); err != nil {
		c.Fatal(err)
	}
}

// message reads the next handshake message, over change_cipher_spec.
func (c *testClient) message(rest *[]byte) ([]byte, error) {
	for {
		if b := *rest; len(b) >= messageHeader {
			n := messageHeader + int(b[2])<<8 + int(b[3])
			*rest = b[n:]
			c.transcript = append(c.transcript, b[:n]...)
			return b[:n], nil
		}
		k, body, err := c.in.record()
		switch {
		case err != nil:
			return nil, err
		case k == kindAlert:
			return nil, alertOf(body)
		case k == kindHandshake:
			*rest = append([]byte(nil), body...)
		}
	}
}

var errRetry = errors.New("the server asks for another key share")

// start sends the hello and reads what the server answers, up to its Finished.
func (c *testClient) start() error {
	c.Helper()
	msg, early := c.hello.marshal(c, c.transcript)
	c.early = early
	c.transcript = append(c.transcript, msg...)
	c.send(kindHandshake, msg)
	return c.hear()
}

// hear reads the answer to a hello.
func (c *testClient) hear() error {
	var rest []byte
	said := len(c.transcript)
	sh, err := c.message(&rest)
	if err != nil {
		return err
	}
	p := cursor{sh, true}
	p.take(messageHeader + 2)
	random := p.take(randomSize)
	if !bytes.Equal(p.take(int(p.u8())), c.hello.session) || p.u16() != suiteAES128GCM || p.u8() != 0 {
		return errors.New("the ServerHello is about something else")
	}
	x := cursor{p.take(int(p.u16())), true}
	var theirs []byte
	found := map[uint16]bool{}
	for len(x.b) > 0 {
		id := x.u16()
		e := cursor{x.take(int(x.u16())), true}
		found[id] = true
		if id == extKeyShare {
			e.u16()
			if bytes.Equal(random, retryRandom[:]) {
				first := sha256.Sum256(c.transcript[:said])
				c.transcript = append(append([]byte{typeMessageHash, 0, 0, hashSize}, first[:]...), sh...)
				return errRetry
			}
			theirs = e.take(int(e.u16()))
		}
	}
	if !found[extVersions] || !found[extPreSharedKey] || !p.end() || !x.end() {
		return errors.New("the ServerHello lacks something")
	}
	pub, err := c.curve.NewPublicKey(theirs)
	if err != nil {
		return err
	}
	shared, err := c.share.ECDH(pub)
	if err != nil {
		return err
	}
	hs := c.early.next(shared)
	th := sha256.Sum256(c.transcript)
	mine, its := hs.derive("c hs traffic", th[:]), hs.derive("s hs traffic", th[:])
	c.in.keys.set(its)
	if _, err := c.message(&rest); err != nil { // EncryptedExtensions
		return err
	}
	th = sha256.Sum256(c.transcript)
	fin, err := c.message(&rest)
	if err != nil {
		return err
	}
	if !bytes.Equal(fin[messageHeader:], its.finished(th[:])) {
		return errors.New("the server's Finished is wrong")
	}
	th = sha256.Sum256(c.transcript)
	c.out.keys.set(mine)
	c.early = hs.next(zeros) // the master secret
	c.in.open = true
	c.in.keys.set(c.early.derive("s ap traffic", th[:]))
	return nil
}

// finished is the client's last message of the handshake.
func (c *testClient) finished() []byte {
	th := sha256.Sum256(c.transcript)
	return append([]byte{typeFinished, 0, 0, hashSize}, c.out.keys.secret.finished(th[:])...)
}

// ready sends Finished and goes on to data.
func (c *testClient) ready() {
	c.Helper()
	th := sha256.Sum256(c.transcript)
	c.plain(kindChangeCipher, []byte{1})
	c.send(kindHandshake, c.finished())
	c.out.keys.set(c.early.derive("c ap traffic", th[:]))
}

// open makes a connection and returns both ends of it.
func open(t testing.TB) (*testClient, *Conn) {
	t.Helper()
	nc, done := serve(t, testKeys(t))
	c := newTestClient(t, nc)
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	c.ready()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return c, r.c
}

// readAll reads what the server sends until it is n bytes.
func (c *testClient) readAll(n int) (all []byte) {
	c.Helper()
	for len(all) < n {
		k, body, err := c.in.record()
		if err != nil || k != kindData {
			c.Fatalf("record of type %d, %v", k, err)
		}
		all = append(all, body...)
	}
	return all
}

// alert reads until the server says what is wrong.
func (c *testClient) alert() Alert {
	c.Helper()
	for {
		k, body, err := c.in.record()
		switch {
		case err != nil:
			c.Fatalf("no alert comes: %v", err)
		case k == kindAlert && len(body) == 2:
			return Alert(body[1])
		}
	}
}

// plain sends a record that is not encrypted.
func (c *testClient) plain(k kind, content []byte) {
	c.Helper()
	if _, err := c.nc.Write(append([]byte{byte(k), 3, 3, byte(len(content) >> 8), byte(len(content))}, content...)); err != nil {
		c.Fatal(err)
	}
}
