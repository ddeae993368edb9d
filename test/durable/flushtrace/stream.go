package flushtrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
)

// ErrTruncated: the trace does not show the bytes of a request's or reply's header. Record it with a larger -s.
var ErrTruncated = errors.New("the trace shows too little of a connection's data: record it with a larger -s")

// stream is what went one way over a connection. What the trace does not show is zeros, and listed as holes.
type stream struct {
	buf   []byte
	holes [][2]int
	calls []arrival
}

// arrival is where a call's bytes begin in a stream.
type arrival struct {
	at         int
	begin, end int // lines
}

// add appends what a call moved, unless the stream has not begun and these are not its first bytes.
func (s *stream) add(c *Call, magic uint32) {
	pieces := c.moved()
	if len(pieces) == 0 {
		return
	}
	if d := pieces[0].data; len(s.buf) == 0 && (len(d) < 4 || binary.BigEndian.Uint32(d) != magic) {
		return
	}
	s.calls = append(s.calls, arrival{len(s.buf), c.Begin, c.End})
	for _, p := range pieces {
		s.buf = append(s.buf, p.data...)
		if hidden := int(p.length) - len(p.data); hidden > 0 {
			s.holes = append(s.holes, [2]int{len(s.buf), len(s.buf) + hidden})
			s.buf = append(s.buf, make([]byte, hidden)...)
		}
	}
}

// shown returns the n bytes at an offset if the trace shows them all.
func (s *stream) shown(at, n int) ([]byte, bool) {
	if at+n > len(s.buf) {
		return nil, false
	}
	i := sort.Search(len(s.holes), func(i int) bool { return s.holes[i][1] > at })
	if i < len(s.holes) && s.holes[i][0] < at+n {
		return nil, false
	}
	return s.buf[at : at+n], true
}

// call returns the call that moved the byte at an offset.
func (s *stream) call(at int) arrival {
	i := sort.Search(len(s.calls), func(i int) bool { return s.calls[i].at > at })
	return s.calls[i-1]
}

// request is an NBD request, with its reply.
type request struct {
	conn           string
	cookie         uint64
	cmd            uint16
	fua            bool
	offset, length uint64
	came           int      // the line at which the server had its header
	samples        [][]byte // of a write's data, the beginnings of its blocks, as far as the trace shows them

	answered int // the line at which the reply began to be sent; 0 when it was not
	errno    uint32
	covered  bool // by a flush
}

const (
	requestMagic = 0x25609513
	replyMagic   = 0x67446698

	cmdRead  = 0
	cmdWrite = 1
	cmdFlush = 3

	// blockSize is the distance of samples in bytes, and sampleSize their length.
	blockSize  = 512
	sampleSize = 32
)

// requests decodes what the server read from a connection.
func (s *stream) requests(conn string) ([]*request, error) {
	var all []*request
	for at := 0; at+28 <= len(s.buf); {
		h, ok := s.shown(at, 28)
		if !ok {
			return nil, ErrTruncated
		}
		if binary.BigEndian.Uint32(h) != requestMagic {
			return nil, fmt.Errorf("%s: no request at byte %d of the connection, but % x", conn, at, h)
		}
		q := &request{
			conn: conn, cookie: binary.BigEndian.Uint64(h[8:]), cmd: binary.BigEndian.Uint16(h[6:]), fua: h[5]&1 != 0,
			offset: binary.BigEndian.Uint64(h[16:]), length: uint64(binary.BigEndian.Uint32(h[24:])),
			came: s.call(at + 27).end,
		}
		at += 28
		if q.cmd == cmdWrite {
			for i := 0; i < int(q.length); i += blockSize {
				if b, ok := s.shown(at+i, sampleSize); ok {
					q.samples = append(q.samples, b)
				}
			}
			at += int(q.length)
		}
		all = append(all, q)
	}
	return all, nil
}

// replies decodes what the server wrote to a connection, into the requests.
func (s *stream) replies(conn string, all []*request) error {
	open := make(map[uint64][]*request)
	for _, q := range all {
		open[q.cookie] = append(open[q.cookie], q)
	}
	for at := 0; at+16 <= len(s.buf); {
		h, ok := s.shown(at, 16)
		if !ok {
			return ErrTruncated
		}
		cookie := binary.BigEndian.Uint64(h[8:])
		if binary.BigEndian.Uint32(h) != replyMagic || len(open[cookie]) == 0 {
			return fmt.Errorf("%s: no simple reply to a request at byte %d of the connection, but % x", conn, at, h)
		}
		q := open[cookie][0]
		open[cookie] = open[cookie][1:]
		q.answered, q.errno = s.call(at).begin, binary.BigEndian.Uint32(h[4:])
		at += 16
		if q.cmd == cmdRead && q.errno == 0 {
			at += int(q.length)
		}
	}
	return nil
}
