package psk

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"time"
)

// handshake is one on its way.
//
//	client                              server
//	ClientHello            ─────────▶
//	                       ◀─────────   HelloRetryRequest   ┐ if there is no share
//	ClientHello            ─────────▶                       ┘ for a group of ours
//	                       ◀─────────   ServerHello, EncryptedExtensions, Finished
//	Finished               ─────────▶
//
// Ownership: the goroutine's that runs Server.
type handshake struct {
	c    *Conn
	keys *Keys

	in         []byte // of handshake messages, not taken yet
	transcript []byte // what has been said
	hello      *clientHello
	changed    bool // a change_cipher_spec has been sent

	master, clientSecret secret // clientSecret: of the client's Finished
}

// Handshake messages.
const (
	typeClientHello         = 1
	typeServerHello         = 2
	typeEncryptedExtensions = 8
	typeFinished            = 20
	typeKeyUpdate           = 24
	typeMessageHash         = 254
)

// groups are those that we have, by number, the better first.
var groups = []struct {
	number uint16
	curve  ecdh.Curve
}{{29, ecdh.X25519()}, {23, ecdh.P256()}}

// Server makes a TLS connection of a socket. The time that it may take is that of ctx,
// and of the socket's deadlines. Errors: *Error, *RemoteError, ctx's, the socket's.
func Server(ctx context.Context, nc net.Conn, keys *Keys) (*Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	h := &handshake{c: newConn(nc), keys: keys}
	if err := h.run(); err != nil {
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		return nil, h.c.failed(err)
	}
	return h.c, nil
}

func (h *handshake) run() error {
	if err := h.readHello(); err != nil {
		return err
	}
	share, group := h.share()
	if share == nil {
		if group < 0 {
			return wrong(alertHandshakeFailure, "client knows none of the groups X25519 and P-256")
		}
		first := h.hello
		if err := h.retry(group); err != nil {
			return err
		}
		if share, _ = h.share(); !first.again(h.hello, groups[group].number) {
			return wrong(alertIllegalParameter, "second ClientHello is not the first with another key share")
		}
	}
	identity, early, err := h.authenticate()
	if err != nil {
		return err
	}
	if err := h.answer(groups[group].number, groups[group].curve, share, identity, early); err != nil {
		return err
	}
	return h.finish()
}

// readHello waits for a ClientHello that fits us.
func (h *handshake) readHello() error {
	msg, err := h.read(typeClientHello)
	if err != nil {
		return err
	}
	if h.hello, err = parseHello(msg); err != nil {
		return err
	}
	x := h.hello
	switch {
	case !slices.Contains(x.versions, version13):
		return wrong(alertProtocolVersion, "client does not speak TLS 1.3")
	case x.identities == nil:
		return wrong(alertHandshakeFailure, "client offers no pre-shared key")
	case x.modes == nil || x.groups == nil || x.shares == nil:
		return wrong(alertMissingExtension, "ClientHello lacks one of psk_key_exchange_modes, supported_groups and key_share")
	case !bytes.Contains(x.modes, []byte{modeDHE}):
		return wrong(alertHandshakeFailure, "client wants no key exchange beside the pre-shared key")
	case !slices.Contains(x.suites, suiteAES128GCM):
		return wrong(alertHandshakeFailure, "client does not know TLS_AES_128_GCM_SHA256")
	case x.early:
		return wrong(alertUnsupported, "client sends early data")
	}
	var seen []uint16
	for _, s := range x.shares {
		if slices.Contains(seen, s.group) || !slices.Contains(x.groups, s.group) {
			return wrong(alertIllegalParameter, "key share of group %d twice, or not among the groups", s.group)
		}
		seen = append(seen, s.group)
	}
	return nil
}

// share chooses among our groups. The share is nil when the client has none for the
// group, which is below 0 when there is none in common.
func (h *handshake) share() (share []byte, group int) {
	group = -1
	for i, g := range groups {
		for _, s := range h.hello.shares {
			if s.group == g.number {
				return s.key, i
			}
		}
		if group < 0 && slices.Contains(h.hello.groups, g.number) {
			group = i
		}
	}
	return nil, group
}

// again reports whether a second hello is the first but for its share.
func (x *clientHello) again(y *clientHello, group uint16) bool {
	return bytes.Equal(x.random, y.random) && bytes.Equal(x.session, y.session) && slices.Equal(x.suites, y.suites) &&
		slices.Equal(x.groups, y.groups) && len(y.shares) == 1 && y.shares[0].group == group
}

// retry asks for a share of a group, and reads the second hello.
func (h *handshake) retry(group int) error {
	first := sha256.Sum256(h.transcript)
	h.transcript = append([]byte{typeMessageHash, 0, 0, hashSize}, first[:]...)
	h.send(kindHandshake, h.message(typeServerHello, serverHello(retryRandom[:], h.hello.session,
		extension(extKeyShare, binary.BigEndian.AppendUint16(nil, groups[group].number)))))
	h.changeCipher()
	if err := h.flush(); err != nil {
		return err
	}
	return h.readHello()
}

// retryRandom is the random number that makes a HelloRetryRequest of a ServerHello (4.1.3).
var retryRandom = sha256.Sum256([]byte("HelloRetryRequest"))

// authenticate finds out who the client is: the first of the identities that we know.
// It returns its number, and the secret that its key begins.
func (h *handshake) authenticate() (n int, early secret, err error) {
	// With an identity that nobody has, what comes next fails, and takes as long as with a wrong key.
	key, known := h.keys.decoy(string(h.hello.identities[0])), false
	for i, id := range h.hello.identities {
		if k, ok := h.keys.of[string(id)]; ok {
			key, known, n = k, true, i
			break
		}
	}
	h.c.identity = string(h.hello.identities[n])
	early = extract(zeros, key)
	partial := sha256.Sum256(h.transcript[:len(h.transcript)-h.hello.bindersSize()])
	right := hmac.Equal(binder(early, binderLabel, partial[:]), h.hello.binders[n])
	switch {
	case !known:
		return 0, nil, wrong(alertDecryptError, "no key for identity %.64q", h.c.identity)
	case !right:
		return 0, nil, wrong(alertDecryptError, "wrong key for identity %.64q", h.c.identity)
	}
	return n, early, nil
}

// answer sends what the server has to say, and turns encryption on.
func (h *handshake) answer(group uint16, curve ecdh.Curve, share []byte, identity int, early secret) error {
	theirs, err := curve.NewPublicKey(share)
	if err != nil {
		return wrong(alertIllegalParameter, "key share: %v", err)
	}
	ours, err := curve.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	shared, err := ours.ECDH(theirs)
	if err != nil {
		return wrong(alertIllegalParameter, "key share: %v", err)
	}
	var random [randomSize]byte
	_, _ = rand.Read(random[:]) // never fails
	key := ours.PublicKey().Bytes()
	mine := binary.BigEndian.AppendUint16(nil, group)
	mine = append(binary.BigEndian.AppendUint16(mine, uint16(len(key))), key...)
	h.send(kindHandshake, h.message(typeServerHello, serverHello(random[:], h.hello.session,
		extension(extKeyShare, mine), extension(extPreSharedKey, binary.BigEndian.AppendUint16(nil, uint16(identity))))))
	h.changeCipher()

	hs := early.next(shared)
	said := h.hash()
	serverSecret := hs.derive("s hs traffic", said)
	h.clientSecret = hs.derive("c hs traffic", said)
	h.c.in.keys.set(h.clientSecret)
	h.c.out.mu.Lock()
	h.c.out.keys.set(serverSecret)
	h.c.out.mu.Unlock()

	flight := h.message(typeEncryptedExtensions, []byte{0, 0})
	h.send(kindHandshake, append(flight, h.message(typeFinished, serverSecret.finished(h.hash()))...))
	h.master = hs.next(zeros)
	return h.flush()
}

// finish waits for the client's Finished, and begins with the keys for data.
func (h *handshake) finish() error {
	said := h.hash()
	msg, err := h.read(typeFinished)
	if err != nil {
		return err
	}
	if !hmac.Equal(msg[messageHeader:], h.clientSecret.finished(said)) {
		return wrong(alertDecryptError, "client's Finished is wrong")
	}
	h.c.in.keys.set(h.master.derive("c ap traffic", said))
	h.c.in.open = true
	h.c.out.mu.Lock()
	defer h.c.out.mu.Unlock()
	h.c.out.keys.set(h.master.derive("s ap traffic", said))
	return nil
}

// read waits for a handshake message, which ends with its record since the keys change
// behind each (5.1), and adds it to the transcript.
func (h *handshake) read(want byte) ([]byte, error) {
	for {
		if len(h.in) >= messageHeader {
			n := messageHeader + int(h.in[1])<<16 + int(h.in[2])<<8 + int(h.in[3])
			switch {
			case h.in[0] != want:
				return nil, wrong(alertUnexpectedMessage, "handshake message of type %d, want %d", h.in[0], want)
			case n > maxMessage:
				return nil, wrong(alertDecodeError, "handshake message of %d bytes, want up to %d", n, maxMessage)
			case len(h.in) > n:
				return nil, wrong(alertUnexpectedMessage, "handshake message goes on behind its end")
			case len(h.in) == n:
				msg := h.in
				h.in = nil
				h.transcript = append(h.transcript, msg...)
				return msg, nil
			}
		}
		k, body, err := h.c.in.record()
		switch {
		case err != nil:
			return nil, err
		case k == kindAlert:
			if err := alertOf(body); err != nil {
				return nil, err
			}
		case k == kindHandshake && len(body) > 0:
			h.in = append(h.in, body...)
			h.c.in.idle = 0 // no more than a message of them
		case k == kindChangeCipher && len(h.in) == 0 && len(h.transcript) > 0 && bytes.Equal(body, []byte{1}):
			// For those in between that take this for an older version (D.4).
		default:
			return nil, wrong(alertUnexpectedMessage, "record of type %d and %d bytes in the handshake", k, len(body))
		}
	}
}

// message makes a handshake message and adds it to the transcript.
func (h *handshake) message(kind byte, body []byte) []byte {
	m := append([]byte{kind, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	h.transcript = append(h.transcript, m...)
	return m
}

func (h *handshake) hash() []byte {
	s := sha256.Sum256(h.transcript)
	return s[:]
}

func (h *handshake) send(k kind, content []byte) {
	h.c.out.mu.Lock()
	defer h.c.out.mu.Unlock()
	h.c.out.sealLocked(k, content)
}

// changeCipher sends what those in between expect to see once, if the client does so too (D.4).
func (h *handshake) changeCipher() {
	if len(h.hello.session) > 0 && !h.changed {
		h.changed = true
		h.send(kindChangeCipher, []byte{1})
	}
}

func (h *handshake) flush() error {
	h.c.out.mu.Lock()
	defer h.c.out.mu.Unlock()
	return h.c.out.flushLocked()
}

// serverHello is the body of one, which names the version and the suite (4.1.3).
func serverHello(random, session []byte, extensions ...[]byte) []byte {
	b := append([]byte{3, 3}, random...)
	b = append(append(b, byte(len(session))), session...)
	b = binary.BigEndian.AppendUint16(b, suiteAES128GCM)
	all := extension(extVersions, binary.BigEndian.AppendUint16(nil, version13))
	all = append(all, bytes.Join(extensions, nil)...)
	b = binary.BigEndian.AppendUint16(append(b, 0), uint16(len(all)))
	return append(b, all...)
}

func extension(id uint16, content []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, id)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(content))), content...)
}
