package nbd

import "minisrp/miniport"

// ring is the receive buffer: the client's byte stream in a power of two of
// registered memory. Positions count from the start of the stream.
//
//	tail ≤ parsed ≤ head ≤ tail + size
//
// What lies between tail and parsed is held by requests that point into it.
//
// Ownership: the connection's reader.
type ring struct {
	region *miniport.Region
	offset uint64 // of the ring in its region
	buf    []byte

	head   uint64 // the next byte from the socket goes here
	parsed uint64 // the next byte to look at

	// The payloads that requests point into, in stream order; they are given back
	// in any order. first and last count from the start of the connection.
	holds       [slots]hold
	first, last uint64
}

type hold struct {
	start uint64
	done  bool
}

func (r *ring) tail() uint64 {
	if r.first == r.last {
		return r.parsed
	}
	return r.holds[r.first%slots].start
}

// room returns how many bytes can be read in.
func (r *ring) room() int { return len(r.buf) - int(r.head-r.tail()) }

// unparsed returns how many bytes have been read and not looked at.
func (r *ring) unparsed() int { return int(r.head - r.parsed) }

// header returns the n bytes at parsed (n ≤ unparsed, n ≤ len(scratch)); they
// are copied to scratch if they go round the end.
func (r *ring) header(n int, scratch []byte) []byte {
	at := int(r.parsed & uint64(len(r.buf)-1))
	if at+n <= len(r.buf) {
		return r.buf[at : at+n]
	}
	k := copy(scratch, r.buf[at:])
	copy(scratch[k:n], r.buf)
	return scratch[:n]
}

// hold takes the n bytes at parsed (n ≤ unparsed) as the payload of a request:
// they stay until release. It appends them to segs as one or two pieces.
func (r *ring) hold(n int, segs []miniport.Segment) ([]miniport.Segment, uint64) {
	at := r.parsed & uint64(len(r.buf)-1)
	k := min(n, len(r.buf)-int(at))
	segs = append(segs, miniport.Segment{Region: r.region, Offset: r.offset + at, Length: uint32(k)})
	if k < n {
		segs = append(segs, miniport.Segment{Region: r.region, Offset: r.offset, Length: uint32(n - k)})
	}
	id := r.last
	r.holds[id%slots] = hold{start: r.parsed}
	r.last++
	r.parsed += uint64(n)
	return segs, id
}

// release gives a payload back.
func (r *ring) release(id uint64) {
	r.holds[id%slots].done = true
	for r.first < r.last && r.holds[r.first%slots].done {
		r.first++
	}
}

// take moves up to len(dst) unparsed bytes out of the ring.
func (r *ring) take(dst []byte) int {
	n := min(len(dst), r.unparsed())
	at := int(r.parsed & uint64(len(r.buf)-1))
	k := copy(dst[:n], r.buf[at:])
	copy(dst[k:n], r.buf)
	r.parsed += uint64(n)
	return n
}

// rewind begins at the start of the memory again when nothing is in it: what was used last is still in the processor's
// caches.
func (r *ring) rewind() {
	if size := uint64(len(r.buf)); r.tail() == r.head {
		r.head = (r.head + size - 1) &^ (size - 1)
		r.parsed = r.head
	}
}

// space returns where the next n bytes (n ≤ room) go, as one or two pieces.
func (r *ring) space(n int) (a, b []byte) {
	at := int(r.head & uint64(len(r.buf)-1))
	if at+n <= len(r.buf) {
		return r.buf[at : at+n], nil
	}
	return r.buf[at:], r.buf[:n-(len(r.buf)-at)]
}
