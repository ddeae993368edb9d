package psk

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// kind is a record's content type.
type kind uint8

const (
	kindChangeCipher kind = 20
	kindAlert        kind = 21
	kindHandshake    kind = 22
	kindData         kind = 23
)

// inbound is what comes from the client.
//
// Ownership: the goroutine's that reads.
type inbound struct {
	src  io.Reader // fixed
	keys direction
	open bool // the handshake is over

	buf  [headerSize + maxSealed]byte // one record
	have int                          // bytes of it that are there
	idle int                          // records in a row without data
}

// record reads one. The content is valid until the next call. After a time-out of the
// socket it can be called again.
func (r *inbound) record() (kind, []byte, error) {
	if err := r.fill(headerSize); err != nil {
		return 0, nil, err
	}
	k, n := kind(r.buf[0]), int(binary.BigEndian.Uint16(r.buf[3:]))
	sealed := r.keys.aead != nil && k == kindData
	switch {
	case k < kindChangeCipher || k > kindData:
		return 0, nil, wrong(alertUnexpectedMessage, "what the client sends is not TLS: type %d of a record", k)
	case !sealed && n > maxPlain, n > maxSealed:
		return 0, nil, wrong(alertRecordOverflow, "record of %d bytes", n)
	}
	if err := r.fill(headerSize + n); err != nil {
		return 0, nil, err
	}
	r.have = 0
	if r.idle++; r.idle > maxIdle {
		return 0, nil, wrong(alertUnexpectedMessage, "more than %d records in a row without data", maxIdle)
	}
	body := r.buf[headerSize : headerSize+n]
	switch {
	case sealed:
		return r.unseal(body)
	case r.keys.aead == nil && k != kindData:
		return k, body, nil
	case !r.open && (k == kindChangeCipher || k == kindAlert):
		// A client that has no keys yet cannot encrypt what it does not like.
		return k, body, nil
	}
	return 0, nil, wrong(alertUnexpectedMessage, "record of type %d where there can be none", k)
}

// fill waits until n bytes of the record are there.
func (r *inbound) fill(n int) error {
	for r.have < n {
		k, err := r.src.Read(r.buf[r.have:n])
		r.have += k
		if err != nil && r.have < n {
			if err == io.EOF && r.have > 0 {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// unseal decrypts a record where it lies.
func (r *inbound) unseal(body []byte) (kind, []byte, error) {
	plain, err := r.keys.aead.Open(body[:0], r.keys.count(), body, r.buf[:headerSize])
	if err != nil {
		return 0, nil, wrong(alertBadRecordMAC, "record is not what was sent")
	}
	if len(plain) > maxInner {
		return 0, nil, wrong(alertRecordOverflow, "record of %d bytes", len(plain))
	}
	n := len(plain)
	for n > 0 && plain[n-1] == 0 { // padding
		n--
	}
	if n == 0 {
		return 0, nil, wrong(alertUnexpectedMessage, "record without a type")
	}
	k := kind(plain[n-1])
	if plain = plain[:n-1]; k == kindData && len(plain) > 0 {
		r.idle = 0
	}
	return k, plain, nil
}

// outbound is what goes to the client.
type outbound struct {
	dst  io.Writer   // fixed
	owed atomic.Bool // the client wants our keys replaced; stale: a record later

	mu     sync.Mutex // guards what follows; held while dst takes a record
	keys   direction
	buf    []byte // records to be written
	closed error  // nothing is sent any more
}

// sealLocked appends a record to what is to be written. The content is up to maxPlain bytes.
// Caller holds o.mu.
func (o *outbound) sealLocked(k kind, content []byte) {
	at := len(o.buf)
	if o.keys.aead == nil {
		o.buf = append(o.buf, byte(k), 3, 3, byte(len(content)>>8), byte(len(content)))
		o.buf = append(o.buf, content...)
		return
	}
	n := len(content) + 1 + o.keys.aead.Overhead()
	o.buf = append(o.buf, byte(kindData), 3, 3, byte(n>>8), byte(n))
	o.buf = append(append(o.buf, content...), byte(k))
	header, plain := o.buf[at:at+headerSize], o.buf[at+headerSize:]
	o.buf = append(o.buf[:at+headerSize], o.keys.aead.Seal(plain[:0], o.keys.count(), plain, header)...)
}

// flushLocked writes what was sealed. Caller holds o.mu.
func (o *outbound) flushLocked() error {
	_, err := o.dst.Write(o.buf)
	o.buf = o.buf[:0]
	if err != nil {
		o.closed = err // part of a record may be out
	}
	return err
}

// alert sends an alert, the last record.
func (o *outbound) alert(a Alert) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed != nil {
		return o.closed
	}
	level := byte(2) // fatal
	if a == alertCloseNotify {
		level = 1
	}
	o.sealLocked(kindAlert, []byte{level, byte(a)})
	err := o.flushLocked()
	o.closed = errClosed
	return err
}

// errClosed is the error of writing after the end.
var errClosed = errors.New("TLS connection has been closed")
