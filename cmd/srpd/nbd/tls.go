package nbd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// TLSMode says whether connections are encrypted.
type TLSMode uint8

const (
	// TLSOff: no.
	TLSOff TLSMode = iota
	// TLSOn: if the client wants it. It does not help against somebody in between
	// who says that it does not.
	TLSOn
	// TLSRequire: always, except on unix sockets, where it is as TLSOn.
	TLSRequire
)

var tlsModes = [...]string{"off", "on", "require"}

func (m TLSMode) String() string { return tlsModes[m] }

// ParseTLSMode reads off, on or require.
func ParseTLSMode(s string) (TLSMode, error) {
	for m, text := range tlsModes {
		if s == text {
			return TLSMode(m), nil
		}
	}
	return 0, fmt.Errorf("TLS mode is %q, want %s", s, strings.Join(tlsModes[:], ", "))
}

// Names of the files in a directory of certificates: those that QEMU, nbdkit and
// libvirt use.
const (
	fileCA         = "ca-cert.pem"
	fileCRL        = "ca-crl.pem"
	fileServerCert = "server-cert.pem"
	fileServerKey  = "server-key.pem"
)

// Credentials are how a server and its TLS clients know each other: Certificates or Keys.
type Credentials interface {
	// handshake makes a TLS connection of a socket. The name is the client's as far as it
	// is known for certain. stale says why what is in the files now cannot be used, if what
	// was read before is.
	//
	//level:passive
	handshake(ctx context.Context, w *wire) (c tlsConn, name string, stale, err error)
}

// Certificates are what a server shows to TLS clients, and knows them by. They come
// from a directory with server-cert.pem, server-key.pem, ca-cert.pem where clients
// are verified, and, if there are revoked certificates, ca-crl.pem. Files that have
// been replaced are read again when the next client comes.
//
// Ownership: anyone's.
type Certificates struct {
	// Fixed after construction.
	dir    string
	verify bool

	files reloaded[*tls.Config]
}

// LoadCertificates reads the files in dir. With verify, clients must show a
// certificate that the authority has signed.
//
//level:passive
func LoadCertificates(dir string, verify bool) (*Certificates, error) {
	c := &Certificates{dir: dir, verify: verify}
	for _, name := range []string{fileCA, fileCRL, fileServerCert, fileServerKey} {
		c.files.files = append(c.files.files, filepath.Join(dir, name))
	}
	c.files.load = func() (*tls.Config, error) {
		cfg, err := c.load()
		if err != nil {
			return nil, fmt.Errorf("TLS certificates in %s: %w", dir, err)
		}
		return cfg, nil
	}
	_, err := c.files.get()
	return c, err
}

// handshake implements Credentials. The name is the common name of a verified
// certificate, "" when none was.
func (c *Certificates) handshake(ctx context.Context, w *wire) (tc tlsConn, name string, stale, err error) {
	cfg, stale := c.files.get()
	conn := tls.Server(w, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, "", stale, err
	}
	if st := conn.ConnectionState(); len(st.VerifiedChains) > 0 {
		name = st.PeerCertificates[0].Subject.CommonName
	}
	return conn, name, stale, nil
}

func (c *Certificates) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.dir, fileServerCert), filepath.Join(c.dir, fileServerKey))
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		// A client that comes again shows its certificate again.
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	}
	if !c.verify {
		return cfg, nil
	}
	ca, err := readPEM(filepath.Join(c.dir, fileCA), "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	cfg.ClientAuth, cfg.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	var authorities []*x509.Certificate
	for _, der := range ca {
		a, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fileCA, err)
		}
		authorities = append(authorities, a)
		cfg.ClientCAs.AddCert(a)
	}
	revoked, err := c.revoked(authorities)
	if err != nil {
		return nil, err
	}
	if len(revoked) > 0 {
		cfg.VerifyConnection = func(st tls.ConnectionState) error { return revoked.check(st.VerifiedChains) }
	}
	return cfg, nil
}

// revocations are the certificates that their authority has called back.
type revocations map[string]bool

// revoked reads the list of revoked certificates, if there is one.
func (c *Certificates) revoked(authorities []*x509.Certificate) (revocations, error) {
	lists, err := readPEM(filepath.Join(c.dir, fileCRL), "X509 CRL")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := revocations{}
	for _, der := range lists {
		l, err := x509.ParseRevocationList(der)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fileCRL, err)
		}
		signed := false
		for _, a := range authorities {
			signed = signed || l.CheckSignatureFrom(a) == nil
		}
		if !signed {
			return nil, fmt.Errorf("%s: no authority in %s has signed it", fileCRL, fileCA)
		}
		for _, e := range l.RevokedCertificateEntries {
			all[string(l.RawIssuer)+e.SerialNumber.String()] = true
		}
	}
	return all, nil
}

func (r revocations) check(chains [][]*x509.Certificate) error {
	for _, chain := range chains {
		for _, c := range chain {
			if r[string(c.RawIssuer)+c.SerialNumber.String()] {
				return fmt.Errorf("certificate %v of %s is revoked", c.SerialNumber, c.Subject)
			}
		}
	}
	return nil
}

// readPEM returns the blocks of one type in a file, one or more.
func readPEM(path, kind string) (all [][]byte, err error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type == kind {
			all = append(all, b.Bytes)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no PEM block of type %q", path, kind)
	}
	return all, nil
}
