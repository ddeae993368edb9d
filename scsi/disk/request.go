package disk

import (
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
	}
	return "unknown operation"
}

// DoneFunc is told that a request is complete: the result is in r.Err, and the
// request and its memory are the owner's again.
//
//level:dispatch noalloc
type DoneFunc func(f *dispatch.Frame, r *Request)

// Request is one operation on a byte range of a disk.
//
// Ownership: the caller's, preallocated and used again; the disk's from Submit
// until Done is called, exactly once and never inside Submit.
type Request struct {
	// Fixed after construction.
	Done DoneFunc

	Op       Op
	FUA      bool // Write, Unmap, WriteZeroes: durable before it completes
	MayUnmap bool // WriteZeroes: may leave a hole
	Offset   uint64
	Length   uint64
	Data     []miniport.Segment // Read, Write: Length bytes in all; not touched until Done

	Err error // the result

	// Next is for lists of the owner while the disk does not have the request.
	Next *Request
}
