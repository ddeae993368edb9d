package nbd_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// credentials are the files of a server and a client, of one authority.
type credentials struct {
	*nbdtest.Authority
	server, client string
	cert           *x509.Certificate // the client's
}

func newCredentials(t testing.TB) *credentials {
	t.Helper()
	a, err := nbdtest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	c := &credentials{Authority: a, server: t.TempDir(), client: t.TempDir()}
	if err := a.WriteServer(c.server, "localhost", "127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	if c.cert, err = a.WriteClient(c.client, "backup"); err != nil {
		t.Fatal(err)
	}
	return c
}

// load reads the server's certificates.
func (c *credentials) load(t testing.TB, verify bool) *nbd.Certificates {
	t.Helper()
	all, err := nbd.LoadCertificates(c.server, verify)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// config is the client's side.
func (c *credentials) config(t testing.TB, withCert bool) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(c.server, "ca-cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}
	cfg.RootCAs.AppendCertsFromPEM(ca)
	if withCert {
		pair, err := tls.LoadX509KeyPair(filepath.Join(c.client, "client-cert.pem"), filepath.Join(c.client, "client-key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg
}

// listenTCP has the server listen on the loopback.
func (s *server) listenTCP(t testing.TB) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	s.also = append(s.also, done)
	return l.Addr()
}

// dialTCP connects to where the server listens.
func dialTCP(t testing.TB, a net.Addr) *client {
	t.Helper()
	nc, err := net.Dial("tcp", a.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(limit))
	return &client{TB: t, Conn: nc}
}

// startTLS goes on over TLS.
func (c *client) startTLS(cfg *tls.Config) error {
	c.Helper()
	c.option(5)
	c.wantReply(5, 1)
	tc := tls.Client(c.Conn, cfg)
	err := tc.Handshake()
	c.Conn, c.style = tc, simple
	return err
}

// NBD_OPT_STARTTLS in the modes of the document: NOTLS, SELECTIVETLS, FORCEDTLS.
func TestTLSModes(t *testing.T) {
	cred := newCredentials(t)
	const unsup, invalid, required = 1<<31 + 1, 1<<31 + 3, 1<<31 + 5
	for _, mode := range []nbd.TLSMode{nbd.TLSOff, nbd.TLSOn, nbd.TLSRequire} {
		t.Run(mode.String(), func(t *testing.T) {
			d := ram(t, nbdtest.Disk(mib))
			s := serve(t, nbd.Config{TLS: mode, Credentials: cred.load(t, false)}, nbd.Export{Name: "x", Backend: d})
			at := s.listenTCP(t)
			k := dialTCP(t, at)
			k.greet(3)
			if mode == nbd.TLSOff {
				k.option(5)
				k.wantReply(5, unsup)
				return
			}
			plain := map[nbd.TLSMode]uint32{nbd.TLSOn: 1, nbd.TLSRequire: required}[mode]
			k.option(8)
			k.wantReply(8, plain)
			for _, opt := range []uint32{3, 6, 7, 9, 11, 4711} {
				if mode == nbd.TLSRequire {
					k.option(opt, make([]byte, 20<<10))
					k.wantReply(opt, required)
				}
			}
			k.option(5, "data")
			k.wantReply(5, invalid)
			if err := k.startTLS(cred.config(t, false)); err != nil {
				t.Fatal(err)
			}
			// Nothing of before counts any more: a read is answered without chunks.
			k.option(5)
			k.wantReply(5, invalid)
			k.start("x")
			k.request(0, read, 1, 0, 512)
			k.wantData(512, 1)
			k.request(0, disc, 1, 0, 0)
			k.eof()

			e := dialTCP(t, at)
			e.greet(3)
			e.option(1)
			if mode == nbd.TLSRequire {
				e.eof()
			} else {
				e.recv(10)
			}
			// On a unix socket it is the client's choice.
			u := s.dial(t)
			u.enter("x", structured)
			u2 := s.dial(t)
			u2.greet(3)
			if err := u2.startTLS(cred.config(t, false)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Data of every length, both ways, through TLS 1.2 and 1.3, and clients that send before they receive.
func TestTLSData(t *testing.T) {
	cred := newCredentials(t)
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		const size = 36 * mib
		d := ram(t, nbdtest.Disk(size), opts...)
		s := serve(t, nbd.Config{TLS: nbd.TLSRequire, Credentials: cred.load(t, false), ConnMemory: 2 * mib}, nbd.Export{Backend: d})
		addr := s.listenTCP(t)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			cfg := cred.config(t, false)
			cfg.MinVersion, cfg.MaxVersion = version, version
			k := dialTCP(t, addr)
			k.greet(3)
			if err := k.startTLS(cfg); err != nil {
				t.Fatal(err)
			}
			k.agree(extended)
			k.start("")
			at := uint64(0)
			sizes := []int{512, 4096, 61440, 64 << 10, 64<<10 - 512, 128 << 10, mib, mib + 512, 3 * mib, 4096}
			if version == tls.VersionTLS13 {
				sizes = append(sizes, 32*mib, 512)
			}
			for i, n := range sizes {
				p := pattern(n, byte(i))
				at = (at + uint64(n)) % (size - uint64(n)) &^ 511
				k.request(0, write, uint64(i), at, uint64(n), p)
				k.want(0, uint64(i))
				k.request(0, read, uint64(i), at, uint64(n))
				if !bytes.Equal(k.wantData(n, uint64(i)), p) {
					t.Fatalf("what was read back after a write of %d bytes at %d differs", n, at)
				}
			}
			const n = 200
			for i := range uint64(n) {
				k.request(0, read, i, i%8*(64<<10), 64<<10)
			}
			seen := map[uint64]bool{}
			for range n {
				a := k.answer(64 << 10)
				if a.errno != 0 || seen[a.cookie] {
					t.Fatalf("error %d, cookie %d seen %v", a.errno, a.cookie, seen[a.cookie])
				}
				seen[a.cookie] = true
			}
			// Many small ones in one write: one record holds several requests.
			var b bytes.Buffer
			many := &client{TB: t, Conn: discard{&b}, style: extended}
			for i := range uint64(50) {
				many.request(0, write, i, i*512, 512, pattern(512, byte(i)))
			}
			k.send(b.Bytes())
			for range 50 {
				if a := k.answer(0); a.errno != 0 {
					t.Fatal(a.errno)
				}
			}
			k.request(0, disc, 0, 0, 0)
			k.eof()
		}
		if x := s.Stats().Exports[0]; x.Full == 0 {
			t.Errorf("the socket was never full: %+v", x)
		}
	})
}

// Clients are verified where that is wanted, by name where an export wants that.
func TestTLSVerify(t *testing.T) {
	cred, other := newCredentials(t), newCredentials(t)
	access, err := nbd.ParseAccess([]string{"tls=backup"})
	if err != nil {
		t.Fatal(err)
	}
	certs := cred.load(t, true)
	s := serve(t, nbd.Config{TLS: nbd.TLSOn, Credentials: certs},
		nbd.Export{Name: "all", Backend: ram(t, nbdtest.Disk(mib))},
		nbd.Export{Name: "backup", Backend: ram(t, nbdtest.Disk(mib)), Access: access})
	// With TLS 1.3 a client learns after the handshake that it is not wanted.
	in := func(cfg *tls.Config) error {
		k := s.dial(t)
		k.greet(3)
		if err := k.startTLS(cfg); err != nil {
			return err
		}
		_, err := k.Read(make([]byte, 1)) // the server says nothing before it is asked
		return err
	}
	for name, cfg := range map[string]*tls.Config{"no certificate": cred.config(t, false), "another authority's": func() *tls.Config {
		c := cred.config(t, false)
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &other.config(t, true).Certificates[0], nil
		}
		return c
	}()} {
		before := s.Stats().Untrusted
		if err := in(cfg); err == nil {
			t.Errorf("%s: let in", name)
		}
		eventually(t, "it is counted", func() bool { return s.Stats().Untrusted == before+1 })
	}
	k := s.dial(t)
	k.greet(3)
	if err := k.startTLS(cred.config(t, true)); err != nil {
		t.Fatal(err)
	}
	k.start("backup")
	eventually(t, "the log names the client", func() bool { return strings.Contains(s.log.String(), `tls=\"backup\"`) })
	plain := s.dial(t)
	plain.greet(3)
	plain.option(7, uint32(6), "backup", uint16(0))
	plain.wantReply(7, 1<<31+6)
	plain.start("all")

	// Revoked: the files are read again when somebody comes.
	if err := cred.Revoke(cred.server, cred.cert); err != nil {
		t.Fatal(err)
	}
	if err := in(cred.config(t, true)); err == nil {
		t.Error("a revoked certificate was let in")
	}
	eventually(t, "the log says why", func() bool { return strings.Contains(s.log.String(), "revoked") })
}

// What is wrong with the files is said.
func TestLoadCertificates(t *testing.T) {
	cred, other := newCredentials(t), newCredentials(t)
	damage := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(cred.server, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := nbd.LoadCertificates(cred.server, true); err == nil || !strings.Contains(err.Error(), cred.server) {
			t.Errorf("%s is %q: %v", name, content, err)
		}
	}
	damage("ca-crl.pem", "nonsense")
	if err := other.Revoke(cred.server); err != nil {
		t.Fatal(err)
	}
	if _, err := nbd.LoadCertificates(cred.server, true); err == nil || !strings.Contains(err.Error(), "ca-crl.pem") {
		t.Errorf("another authority's list: %v", err)
	}
	damage("ca-cert.pem", "")
	damage("server-key.pem", "")
	if _, err := nbd.LoadCertificates(filepath.Join(cred.server, "none"), false); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := nbd.NewServer(nbd.Config{TLS: nbd.TLSOn}); err == nil {
		t.Error("a server with TLS and without certificates")
	}
	for _, mode := range []string{"off", "on", "require"} {
		if m, err := nbd.ParseTLSMode(mode); err != nil || m.String() != mode {
			t.Errorf("%v, %v", m, err)
		}
	}
	if _, err := nbd.ParseTLSMode("yes"); err == nil {
		t.Error("a mode of no name")
	}
}

// A client that says nothing in the handshake, or nonsense, is not waited for.
func TestTLSHandshakeFails(t *testing.T) {
	cred := newCredentials(t)
	s := serve(t, nbd.Config{TLS: nbd.TLSOn, Credentials: cred.load(t, false), NegotiateTimeout: 50 * time.Millisecond},
		nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))})
	silent := s.dial(t)
	silent.greet(3)
	silent.option(5)
	silent.wantReply(5, 1)
	eventually(t, "the silent one has timed out", func() bool { return s.Stats().TimedOut == 1 })
	k := s.dial(t)
	k.greet(3)
	k.option(5)
	k.wantReply(5, 1)
	k.send("GET / HTTP/1.1\r\n\r\n")
	eventually(t, "the other is counted", func() bool { return s.Stats().Untrusted == 1 })
	eventually(t, "both are gone", func() bool { st := s.Stats(); return st.Connections == 0 && st.Memory == 0 })
}

// New certificates are shown once they are complete; until then the old ones are.
func TestCertificatesReplaced(t *testing.T) {
	cred := newCredentials(t)
	s := serve(t, nbd.Config{TLS: nbd.TLSOn, Credentials: cred.load(t, false)},
		nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))})
	serial := func() int64 {
		k := s.dial(t)
		k.greet(3)
		if err := k.startTLS(cred.config(t, false)); err != nil {
			t.Fatal(err)
		}
		return k.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	first := serial()
	key, err := os.ReadFile(filepath.Join(cred.server, "server-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := cred.WriteServer(cred.server, "localhost"); err != nil {
		t.Fatal(err)
	}
	newKey, err := os.ReadFile(filepath.Join(cred.server, "server-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key []byte
		old bool
	}{{key, true}, {newKey, false}} {
		if err := os.WriteFile(filepath.Join(cred.server, "server-key.pem"), c.key, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := serial(); (got == first) != c.old {
			t.Errorf("certificate %d, the first was %d", got, first)
		}
	}
	if !strings.Contains(s.log.String(), "goes on with what was read before") {
		t.Errorf("the log does not say what is wrong:\n%s", s.log)
	}
}
