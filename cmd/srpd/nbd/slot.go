package nbd

import (
	"sync/atomic"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/verbs/dispatch"
)

// slot is one request in flight.
//
//	free → reader fills it → submitted → completed → reply written → freed → free
//	                       └ refused: completed at once
//
// Ownership: the reader's until it is submitted, the backend's until Done, then
// that of whoever holds the connection's write flag, until it is on the freed
// stack and so the reader's again.
type slot struct {
	conn *conn // fixed
	req  disk.Request

	next   *slot // on the completed or the freed stack
	cookie uint64
	offset uint64 // as the client said it
	res    result // of the server itself; the backend's is in req.Err
	cmd    uint16
	length uint32    // of the payload, either way
	status *statuses // of BLOCK_STATUS
	span   *span     // of which this is a piece; nil: of none

	// Where the payload lies.
	segs  [2]miniport.Segment
	where place
	hold  uint64 // inRing: the hold
	page  int    // inPages: the run
	pages int
}

// place says which memory a request holds.
type place uint8

const (
	nowhere place = iota
	inRing        // a hold of the receive ring
	inPages       // a run of pages
	inLarge       // the large region, whole
)

// done is the request's DoneFunc: the reply goes to the connection's batch. In the
// frame that the reader has raised it is the reader who writes it, right after
// Lower. Level: Dispatch.
//
//level:dispatch noalloc
func (s *slot) done(f *dispatch.Frame, _ *disk.Request) {
	c := s.conn
	c.completed.push(s)
	if f != &c.frame {
		c.wakeWriter()
	}
}

// slotStack is a stack that many push to and one takes as a whole.
type slotStack struct{ head atomic.Pointer[slot] }

func (t *slotStack) push(s *slot) {
	for {
		h := t.head.Load()
		s.next = h
		if t.head.CompareAndSwap(h, s) {
			return
		}
	}
}

func (t *slotStack) empty() bool { return t.head.Load() == nil }

// take empties the stack and returns what was on it, the oldest first.
func (t *slotStack) take() *slot {
	var oldest *slot
	for s := t.head.Swap(nil); s != nil; {
		s, s.next, oldest = s.next, oldest, s
	}
	return oldest
}
