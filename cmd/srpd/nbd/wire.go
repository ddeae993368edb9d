package nbd

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wire is the socket as a TLS connection has it. It hands out what it has read a
// record at a time, so that it knows whether the next read would wait; and once
// transmission has begun it collects what is written, so that writing never waits.
//
//	socket → in → one record a Read → tls.Conn → plain text
//	plain text → tls.Conn → Write → out → flush: sending → socket
//
// Ownership: Read is the reader's; flush that of whoever holds the write flag. Write
// comes from both: a reader answers a change of keys. The rest of net.Conn is the
// socket's own.
type wire struct {
	net.Conn
	raw syscall.RawConn // fixed

	// The reader's.
	in       []byte // read from the socket and not handed out
	space    []byte // what in is a piece of
	inRecord int    // bytes of the record being handed out that are still to come
	atOnce   bool   // Read is not to wait for a record to begin

	mu      sync.Mutex // guards out and collect
	out     []byte
	collect bool // keep what is written until flush

	// Of the holder of the write flag.
	sending []byte // what flush is about to write, from sent on
	sent    int
	spare   []byte
	wait    bool
	full    bool
	fulls   uint64 // times that the socket took no more
	failure error
	send    func(fd uintptr) bool // w.transmit, made once
}

// recordHeader is the size of a TLS record's header, in bytes: type, version, length.
const recordHeader = 5

func newWire(nc net.Conn, raw syscall.RawConn) *wire {
	w := &wire{Conn: nc, raw: raw, space: make([]byte, wireBuffer)}
	w.send = w.transmit
	return w
}

// errNoRecord is the error of a Read that does not wait. TLS takes it for a time-out,
// which leaves the connection as it is.
type errNoRecord struct{}

func (errNoRecord) Error() string   { return "no record has come" }
func (errNoRecord) Timeout() bool   { return true }
func (errNoRecord) Temporary() bool { return true }

// Read implements net.Conn. It returns no byte of a second record.
func (w *wire) Read(b []byte) (int, error) {
	if w.inRecord == 0 {
		if w.atOnce && !w.ready() {
			return 0, errNoRecord{}
		}
		if err := w.fillTo(recordHeader); err != nil {
			return 0, err
		}
		w.inRecord = recordHeader + int(binary.BigEndian.Uint16(w.in[3:]))
	}
	if err := w.fillTo(1); err != nil {
		return 0, err
	}
	n := copy(b[:min(len(b), w.inRecord)], w.in)
	w.in = w.in[n:]
	w.inRecord -= n
	return n, nil
}

// fillTo waits until n bytes are in.
func (w *wire) fillTo(n int) error {
	for len(w.in) < n {
		k := copy(w.space, w.in)
		got, err := w.Conn.Read(w.space[k:])
		w.in = w.space[:k+got]
		if err == io.EOF && len(w.in) > 0 && len(w.in) < n {
			return io.ErrUnexpectedEOF
		}
		if err != nil && len(w.in) < n {
			return err
		}
	}
	return nil
}

// ready reports whether a whole record is in, so that Read need not wait for the next.
func (w *wire) ready() bool {
	return len(w.in) >= recordHeader && len(w.in)-recordHeader >= int(binary.BigEndian.Uint16(w.in[3:]))
}

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	if w.collect {
		w.out = append(w.out, b...)
		w.mu.Unlock()
		return len(b), nil
	}
	w.mu.Unlock()
	return w.Conn.Write(b)
}

// begin has what is written collected from now on.
func (w *wire) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.collect = true
	w.out, w.spare = make([]byte, 0, wireBuffer), make([]byte, 0, wireBuffer)
}

// collected returns how many bytes are waiting to be sent.
func (w *wire) collected() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.out) + len(w.sending) - w.sent
}

// flush sends what was collected. It reports false when the socket takes no more
// and wait was not asked for.
func (w *wire) flush(wait bool) (done bool, err error) {
	for {
		if w.sent == len(w.sending) {
			w.mu.Lock()
			w.sending, w.out, w.spare = w.out, w.spare[:0], w.sending
			w.sent = 0
			w.mu.Unlock()
			if len(w.sending) == 0 {
				return true, nil
			}
		}
		w.wait, w.full = wait, false
		if err := w.raw.Write(w.send); err != nil && !w.full {
			return true, err
		}
		if w.failure != nil {
			return true, w.failure
		}
		if w.full {
			return false, nil
		}
	}
}

// transmit is one try to send, for RawConn.Write.
func (w *wire) transmit(fd uintptr) bool {
	for w.sent < len(w.sending) {
		rest := w.sending[w.sent:]
		n, _, e := unix.Syscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(rest))), uintptr(len(rest)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch {
		case e == unix.EINTR:
		case e == unix.EAGAIN:
			w.fulls++
			w.full = !w.wait
			return w.full
		case e != 0:
			w.failure = e
			return true
		default:
			w.sent += int(n)
		}
	}
	return true
}
