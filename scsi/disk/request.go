package disk

import (
	"time"

	"minisrp/miniport"
	"minisrp/verbs/dispatch"
)

// Op is what a request asks for.
type Op uint8

const (
	// Read moves Length bytes from the disk into Data.
	Read Op = iota
	// Write moves Length bytes from Data to the disk.
	Write
	// Flush makes every write that has completed durable. Offset, Length and Data
	// are ignored.
	Flush
	// Unmap tells the disk that Length bytes are of no use any more. What they
	// read as afterwards is the disk's choice.
	Unmap
	// WriteZeroes makes Length bytes read as zeros.
	WriteZeroes
	// Status tells in Extents which of Length bytes the unit keeps, from Offset on.
	Status
	// Prefetch tells the disk that Length bytes will be read soon. It may do
	// nothing, and completes before they are there.
	Prefetch

	// Ops is how many operations there are.
	Ops int = iota
)

func (o Op) String() string {
	switch o {
	case Read:
		return "read"
	case Write:
		return "write"
	case Flush:
		return "flush"
	case Unmap:
		return "unmap"
	case WriteZeroes:
		return "write zeroes"
	case Status:
		return "status"
	case Prefetch:
		return "prefetch"
	}
	return "unknown operation"
}

// Extent is a run of bytes that the unit keeps in the same way. Hole and Zero both false is what is said of those
// that nothing is known of.
type Extent struct {
	Length uint64
	Hole   bool // no space is kept for them
	Zero   bool // they read as zeros
}

// DoneFunc is told that a request is complete: the result is in r.Err, and the
// request and its memory are the owner's again.
//
//level:dispatch noalloc
type DoneFunc func(f *dispatch.Frame, r *Request)

// Request is one operation on a byte range of a disk. Offset and Length are multiples of the logical block, and
// the range lies within the disk; else it fails, with ErrAlignment or ErrRange.
//
// Ownership: the caller's, preallocated and used again; the disk's from Submit
// until Done is called, exactly once and never inside Submit.
type Request struct {
	// Fixed after construction.
	Done DoneFunc

	Op       Op
	FUA      bool // Write, Unmap, WriteZeroes: durable before it completes
	MayUnmap bool // WriteZeroes: may leave a hole
	Fast     bool // WriteZeroes: fail with ErrSlow rather than take as long as a write
	Offset   uint64
	Length   uint64
	Data     []miniport.Segment // Read, Write: Length bytes in all; not touched until Done

	// Extents is room for what Status tells, one or more. Afterwards, without an error, it has what was told, from
	// Offset on, each unlike the one before, and no more than Length bytes in all: fewer when there was no room.
	Extents []Extent

	// Err is the result: nil, a sentinel of this package, or an *Error, which is a
	// part of the request and valid until it is submitted again.
	Err error

	// Next is for lists of the owner while the disk does not have the request.
	Next *Request

	work work
}

// work is how far the disk has come with a request.
//
// Ownership: of the lane's processor, except link, until the lane has taken it.
type work struct {
	lane    *lane // nil while the disk does not have the request
	link    link  // on the way from another processor
	next    *Request
	lba     uint64        // first block that is not yet a slot's
	left    uint64        // blocks that are not yet a slot's; for Flush 1
	segment int           // where the data of lba are: in this segment,
	at      uint32        // at this byte
	part    uint64        // blocks of a slot, of Unmap and WriteZeroes
	slots   int           // working on it
	sync    bool          // a flush is to follow
	since   time.Duration // on the processor's clock: the lane has it
	err     error
	failure Error
}

// link is an item of the queue between processors.
type link struct {
	next *link
	r    *Request
}

// Link is where the queue keeps its link.
func (l *link) Link() **link { return &l.next }

// requestList is a FIFO of requests.
type requestList struct{ head, tail *Request }

func (q *requestList) push(r *Request) {
	r.work.next = nil
	if q.tail == nil {
		q.head = r
	} else {
		q.tail.work.next = r
	}
	q.tail = r
}

func (q *requestList) pop() *Request {
	r := q.head
	if r == nil {
		return nil
	}
	if q.head = r.work.next; q.head == nil {
		q.tail = nil
	}
	r.work.next = nil
	return r
}

// take empties the list into another.
func (q *requestList) take() requestList {
	all := *q
	*q = requestList{}
	return all
}
