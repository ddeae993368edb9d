package tap

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// Options of a capture. The zero value means the defaults.
type Options struct {
	Snap int // bytes kept of each message: 1 up to a quarter of Ring; 0 means 64 KiB
	Ring int // bytes between the fabric and the file: 64 KiB to 1 GiB; 0 means 32 MiB

	// Size is the most that is written, in bytes, MinSize or more; 0 means without a limit. What comes after the first
	// packet that finds no room is not seen, and no drop.
	Size uint64

	// Full is told by the capture's goroutine when Size has been reached; nil for nobody.
	//
	//level:passive
	Full func()
}

// Capture is a sink for soft.Config.Tap.
type Capture struct {
	// Fixed after construction.
	snap  int
	size  uint64 // of packets, with what is around them
	full  func()
	ring  *ring
	start time.Time
	out   *pcapgo.NgWriter
	file  io.Closer // nil: the writer is the caller's
	wake  chan struct{}
	quit  chan struct{}
	done  chan struct{}

	closed   atomic.Bool
	dropped  atomic.Uint64
	messages atomic.Uint64

	closing sync.Once
	err     error // the writer's; of Close once done is closed
	packets uint64
	written uint64 // bytes of them; above size when one has found no room
}

var _ soft.Tap = (*Capture)(nil)

// New starts a capture to w, which must not be used by others before Close has
// returned.
//
//level:passive
func New(w io.Writer, o Options) (*Capture, error) {
	if o.Ring == 0 {
		o.Ring = defaultRing
	}
	if o.Snap == 0 {
		o.Snap = min(defaultSnap, o.Ring/4)
	}
	if o.Ring < minRing || o.Ring > maxRing {
		return nil, fmt.Errorf("capture with a ring of %d bytes: want %d to %d", o.Ring, minRing, maxRing)
	}
	if o.Snap < 1 || o.Snap > o.Ring/4 {
		return nil, fmt.Errorf("capture of %d bytes a message: want 1 to %d, a quarter of the ring", o.Snap, o.Ring/4)
	}
	if o.Size == 0 {
		o.Size = math.MaxUint64
	}
	if o.Size < MinSize {
		return nil, fmt.Errorf("capture of %d bytes: want %d or more", o.Size, MinSize)
	}
	out, err := pcapgo.NewNgWriterInterface(w, pcapgo.NgInterface{
		Name: "soft", Description: "soft fabric", LinkType: layers.LinkTypeEthernet, TimestampResolution: 9,
	}, pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{
		Hardware: runtime.GOARCH, OS: runtime.GOOS, Application: "minisrp",
		Comment: fmt.Sprintf("of each message %d bytes are kept; acknowledgements are not seen", o.Snap),
	}})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	c := &Capture{
		snap: o.Snap, size: o.Size - frameBytes, full: o.Full, ring: newRing(o.Ring), start: time.Now(), out: out,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go c.write()
	return c, nil
}

// Create is New to a file, which is made, or emptied, for its owner's eyes only: it
// holds whatever crosses the fabric.
//
//level:passive
func Create(path string, o Options) (*Capture, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	c, err := New(f, o)
	if err != nil {
		f.Close()
		return nil, err
	}
	c.file = f
	return c, nil
}

// Dropped returns how many messages found the ring full.
func (c *Capture) Dropped() uint64 { return c.dropped.Load() }

// Messages returns how many messages went into the ring.
func (c *Capture) Messages() uint64 { return c.messages.Load() }

// Close writes what is in the ring and the count of drops, and ends the capture. What
// comes later is not seen. It returns the first error of writing.
//
//level:passive
func (c *Capture) Close() error {
	c.closing.Do(func() {
		c.closed.Store(true)
		close(c.quit)
	})
	<-c.done
	return c.err
}

// Message keeps a message. It implements soft.Tap.
func (c *Capture) Message(f *dispatch.Frame, m *soft.Message) {
	rec, b, pos := c.reserve(int(min(m.Length, uint32(c.snap))))
	if rec == nil {
		return
	}
	rec.kind, rec.msg = message, *m
	rec.n = m.CopyData(b)
	rec.msg.Forget()
	c.commit(rec, pos)
}

// Manage keeps a message of the connection manager. It implements soft.Tap.
func (c *Capture) Manage(m *soft.Management) {
	rec, b, pos := c.reserve(len(m.Private))
	if rec == nil {
		return
	}
	rec.kind, rec.manage = management, *m
	copy(b, m.Private)
	rec.manage.Private = nil
	c.commit(rec, pos)
}

func (c *Capture) reserve(n int) (*record, []byte, uint64) {
	if c.closed.Load() {
		return nil, nil, 0
	}
	rec, b, pos := c.ring.reserve(n)
	if rec == nil {
		c.dropped.Add(1)
	}
	return rec, b, pos
}

// commit hands a record to the writer, and wakes it.
func (c *Capture) commit(rec *record, pos uint64) {
	//level:allow std: the time of a packet, which a frame's clock does not give
	rec.at = time.Since(c.start)
	c.messages.Add(1)
	rec.commit.Store(pos + 1)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write is the capture's goroutine.
func (c *Capture) write() {
	defer close(c.done)
	b := newBuilder(c.emit)
	for over := false; !over; {
		select {
		case <-c.wake:
		case <-c.quit:
			over = true
		}
		c.drain(b, over)
		c.keep(c.out.Flush())
	}
	c.keep(c.out.WriteInterfaceStats(0, pcapgo.NgInterfaceStatistics{
		LastUpdate: time.Now(), StartTime: c.start, EndTime: time.Now(),
		PacketsReceived: c.packets, PacketsDropped: c.dropped.Load(),
	}))
	c.keep(c.out.Flush())
	if c.file != nil {
		c.keep(c.file.Close())
	}
	if c.err != nil {
		c.err = fmt.Errorf("capture: %w", c.err)
	}
}

// drain writes what is committed; at the end also what is still being filled.
func (c *Capture) drain(b *builder, over bool) {
	for {
		rec, bytes := c.ring.next()
		switch {
		case rec == nil && over && !c.ring.empty():
			runtime.Gosched() // somebody is between reserve and commit
			continue
		case rec == nil:
			return
		case c.err != nil: // the capture is over: let the fabric not see drops
		case rec.kind == message:
			b.message(rec.at, &rec.msg, bytes)
		case rec.kind == management:
			b.management(rec.at, &rec.manage, bytes)
		}
		c.ring.free(rec)
	}
}

// keep keeps the first error.
func (c *Capture) keep(err error) {
	if c.err == nil && err != nil && !errors.Is(err, os.ErrClosed) {
		c.err = err
	}
}

// emit writes a packet, whose length was more than what is captured if it was cut, unless the file has its size.
func (c *Capture) emit(at time.Duration, p []byte, length int) {
	if c.written > c.size {
		return
	}
	if c.written += packetBytes + (uint64(len(p))+3)&^3; c.written > c.size {
		c.closed.Store(true)
		if c.full != nil {
			c.full()
		}
		return
	}
	c.packets++
	c.keep(c.out.WritePacket(gopacket.CaptureInfo{
		Timestamp: c.start.Add(at), CaptureLength: len(p), Length: length,
	}, p))
}
