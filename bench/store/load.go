package store

import (
	"math/rand/v2"
	"time"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/verbs/dispatch"
)

// load keeps requests at a disk: writes, and a flush after every few of them.
//
// Ownership: of the frame that owns the disk's processor, from start until finished is closed.
type load struct {
	config   Config
	disk     *disk.Disk
	places   *rand.Rand
	requests []disk.Request

	begun    time.Duration
	since    int // writes since the last flush
	out      int
	last     bool // the flush at the end was started
	result   Result
	err      error
	finished chan struct{}
}

func newLoad(c Config, d *disk.Disk, region *miniport.Region) *load {
	l := &load{config: c, disk: d, places: rand.New(rand.NewPCG(1, 2)), finished: make(chan struct{})}
	l.requests = make([]disk.Request, c.Depth)
	for i := range l.requests {
		l.requests[i].Done = l.done
		l.requests[i].Data = []miniport.Segment{{Region: region, Offset: uint64(i) * uint64(c.Block), Length: c.Block}}
	}
	return l
}

func (l *load) start(f *dispatch.Frame) {
	l.begun = f.Now()
	for i := range l.requests {
		l.next(f, &l.requests[i])
	}
}

// next starts a request, unless the time is over: then a last flush follows all others.
func (l *load) next(f *dispatch.Frame, q *disk.Request) {
	over := l.err != nil || f.Now()-l.begun >= l.config.Time
	switch {
	case over && l.out > 0:
		return
	case over && l.last:
		l.result.Took = f.Now() - l.begun
		close(l.finished)
		return
	case over || l.since == l.config.Every:
		l.last, l.since = over, 0
		q.Op, q.Offset, q.Length = disk.Flush, 0, 0
		l.result.Flushes++
	default:
		q.Op, q.Length = disk.Write, uint64(l.config.Block)
		//level:allow std: its source is a PCG, which computes
		q.Offset = l.places.Uint64N(l.config.Size/q.Length) * q.Length
		l.since++
		l.result.Writes++
	}
	l.out++
	l.disk.Submit(f, q)
}

func (l *load) done(f *dispatch.Frame, q *disk.Request) {
	l.out--
	if q.Err != nil && l.err == nil {
		l.err = q.Err
	}
	l.next(f, q)
}
