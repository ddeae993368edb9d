package nbd

import (
	"sync/atomic"

	"minisrp/scsi/disk"
)

// opKinds is the number of operations that are counted apart: disk.Op's values.
const opKinds = disk.Ops

// counters are an export's. They only grow, except Connections.
type counters struct {
	Reads, Writes, Flushes, Trims, Zeroes atomic.Uint64
	Statuses, Caches                      atomic.Uint64
	BytesRead, BytesWritten               atomic.Uint64 // of requests that ended well

	Errors      atomic.Uint64 // error replies
	Connections atomic.Int64  // in transmission now
	Accepted    atomic.Uint64 // that reached transmission
	Broken      atomic.Uint64 // ended by a client that left the protocol
	Cut         atomic.Uint64 // ended because the client kept the server waiting
	Replies     atomic.Uint64
	Batches     atomic.Uint64 // groups of replies, one system call each if the socket takes them
	Wakes       atomic.Uint64 // of a writer goroutine
	Full        atomic.Uint64 // times that a socket took no more replies
	Waits       atomic.Uint64 // of a reader for slots or memory
}

// add adds a batch's tally and clears it.
func (c *counters) add(t *tally) {
	each := [opKinds]*atomic.Uint64{&c.Reads, &c.Writes, &c.Flushes, &c.Trims, &c.Zeroes, &c.Statuses, &c.Caches}
	for i, n := range t.ops {
		if n > 0 {
			each[i].Add(n)
		}
	}
	*t = tally{}
}

// ExportStats says what an export is and has done.
type ExportStats struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Info        Info   `json:"info"`

	Connections int64  `json:"connections"`
	Accepted    uint64 `json:"accepted"`
	Broken      uint64 `json:"broken"`
	Cut         uint64 `json:"cut"` // clients that kept the server waiting

	Reads        uint64 `json:"reads"`
	Writes       uint64 `json:"writes"`
	Flushes      uint64 `json:"flushes"`
	Trims        uint64 `json:"trims"`
	Zeroes       uint64 `json:"zeroes"`
	Statuses     uint64 `json:"statuses"`
	Caches       uint64 `json:"caches"`
	BytesRead    uint64 `json:"bytes_read"` // this and the next: of requests that ended well
	BytesWritten uint64 `json:"bytes_written"`
	Errors       uint64 `json:"errors"`

	Replies uint64 `json:"replies"`
	Batches uint64 `json:"batches"`
	Wakes   uint64 `json:"wakes"`
	Full    uint64 `json:"full"`
	Waits   uint64 `json:"waits"`

	MemoryGets uint64 `json:"memory_gets"`
	MemoryPuts uint64 `json:"memory_puts"`
}

// Stats says what a server is and has done.
type Stats struct {
	Exports     []ExportStats `json:"exports"`
	Connections int           `json:"connections"` // those that negotiate included
	Accepted    uint64        `json:"accepted"`
	Refused     uint64        `json:"refused"`    // at the limit of connections
	Broken      uint64        `json:"broken"`     // negotiations that left the protocol
	TimedOut    uint64        `json:"timed_out"`  // negotiations
	Untrusted   uint64        `json:"untrusted"`  // TLS handshakes that failed
	Memory      int64         `json:"memory"`     // registered bytes
	MemoryMax   int64         `json:"memory_max"` // their limit
}

func (e *export) stats() ExportStats {
	c := &e.counters
	s := ExportStats{
		Name: e.name, Description: e.description, Info: e.info(),
		Connections: c.Connections.Load(), Accepted: c.Accepted.Load(), Broken: c.Broken.Load(), Cut: c.Cut.Load(),
		Reads: c.Reads.Load(), Writes: c.Writes.Load(), Flushes: c.Flushes.Load(),
		Trims: c.Trims.Load(), Zeroes: c.Zeroes.Load(),
		Statuses: c.Statuses.Load(), Caches: c.Caches.Load(),
		BytesRead: c.BytesRead.Load(), BytesWritten: c.BytesWritten.Load(), Errors: c.Errors.Load(),
		Replies: c.Replies.Load(), Batches: c.Batches.Load(), Wakes: c.Wakes.Load(),
		Full: c.Full.Load(), Waits: c.Waits.Load(),
	}
	e.pool.mu.Lock()
	s.MemoryGets, s.MemoryPuts = e.pool.gets, e.pool.puts
	e.pool.mu.Unlock()
	return s
}
