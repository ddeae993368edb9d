package simulate

import (
	"container/heap"
	"time"
)

// Costs are what there is to measure. Fit gives the first two.
type Costs struct {
	PerDPC     time.Duration // of a DPC, whatever it finds
	PerRequest time.Duration // of a request, in all its DPCs together
	HandOver   time.Duration // to push to another processor's queue; 0.1 to 0.3 µs
	Wake       time.Duration // until an idle processor begins; 0.2 µs when it spins, 5 µs when a goroutine wakes
	Line       time.Duration // to move a line of memory between processors; 0.05 to 0.2 µs
}

// Fit tells PerDPC and PerRequest from the time that a request takes at depth 1 and at a greater depth, and from the
// DPCs that were counted for it there. What is measured to be negative is taken for 0.
func Fit(one, deep time.Duration, dpcsOne, dpcsDeep float64) Costs {
	c := Costs{PerDPC: one / time.Duration(max(1, dpcsOne))}
	if dpcsOne > dpcsDeep {
		c.PerDPC = max(0, time.Duration(float64(one-deep)/(dpcsOne-dpcsDeep)))
	}
	c.PerRequest = max(0, one-time.Duration(float64(c.PerDPC)*dpcsOne))
	return c
}

// Load is what processors are given to do.
type Load struct {
	Depth  int  // requests at a time, of each processor's submitter; 1 or more
	Shared bool // all use one unit, on the first processor; else each has its own
	Lines  int  // writes of a request to a line of memory that all processors write to
}

// Point is the curve at a number of processors.
type Point struct {
	Processors int
	Rate       float64 // requests a second, of all
	Speedup    float64 // Rate over that of one processor
	Busy       float64 // the part of the time that processors work, 0 to 1
	Queue      float64 // DPCs that wait for a processor, on average, of those that are busy
	DPCs       float64 // a request
	HandOvers  float64 // a request
}

// requests are moved for each processor at each point, after as many that are not counted.
const requests = 1_000

// Curve runs a load on 1 to most processors.
func Curve(c Costs, l Load, most int) []Point {
	var curve []Point
	for n := 1; n <= most; n++ {
		p := run(c, l, n)
		p.Speedup = 1
		if n > 1 {
			p.Speedup = p.Rate / curve[0].Rate
		}
		curve = append(curve, p)
	}
	return curve
}

// stage is one of the two DPCs of a request.
type stage struct {
	batch  int  // requests that it takes at a time; 0: all
	atUnit bool // runs on the unit's processor
}

// stages are in the order in which a request takes them: the initiator's queue, which starts it when one before it
// completes, and the target's. What the software HCA does for both it does within their posts, up to a budget of 1024,
// of which each work request costs 4 and each copy up to 64 KiB 64 more; the target's are data and a response.
var stages = [...]stage{
	{},
	{batch: 1024 / (2*4 + 2*64), atUnit: true},
}

// dpc is a deferred call of a channel.
type dpc struct {
	stage, channel int
	at             *processor
	inbox          int // requests that wait for it
	queued         bool
}

type processor struct {
	queue []*dpc
	busy  bool
	load  float64 // ns that it has worked
}

// sim is the state of a run. Times are nanoseconds since its start.
type sim struct {
	costs  Costs
	load   Load
	procs  []processor
	calls  [][]dpc // by channel, by stage
	events events
	serial int
	now    float64

	lineFree float64 // when the shared line can move again
	lineAt   *processor

	done, dpcs, handOvers int
	waited, worked        float64 // for Queue
}

func run(c Costs, l Load, n int) Point {
	s := &sim{costs: c, load: l, procs: make([]processor, n), calls: make([][]dpc, n)}
	for i := range s.calls {
		for k, st := range stages {
			d := dpc{stage: k, channel: i, at: &s.procs[i]}
			if st.atUnit && l.Shared {
				d.at = &s.procs[0]
			}
			s.calls[i] = append(s.calls[i], d)
		}
	}
	for i := range s.calls {
		s.give(&s.calls[i][0], max(1, l.Depth), 0)
	}
	s.until(n * requests)
	begun, done, dpcs, over := s.now, s.done, s.dpcs, s.handOvers
	for i := range s.procs {
		s.procs[i].load = 0
	}
	s.waited, s.worked = 0, 0
	s.until(2 * n * requests)

	p, took, moved := Point{Processors: n}, s.now-begun, float64(s.done-done)
	p.Rate = moved / took * 1e9
	p.DPCs, p.HandOvers = float64(s.dpcs-dpcs)/moved, float64(s.handOvers-over)/moved
	for i := range s.procs {
		p.Busy += s.procs[i].load / took / float64(n)
	}
	if s.worked > 0 {
		p.Queue = s.waited / s.worked
	}
	return p
}

// until runs events until so many requests are done.
func (s *sim) until(done int) {
	for s.done < done {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.fn()
	}
}

// give leaves requests for a DPC at a time from now, and has its processor begin if it is idle.
func (s *sim) give(d *dpc, n int, wake float64) {
	d.inbox += n
	if !d.queued {
		d.queued = true
		d.at.queue = append(d.at.queue, d)
	}
	if !d.at.busy {
		d.at.busy = true
		s.after(wake, func() { s.next(d.at) })
	}
}

// next runs the oldest DPC of a processor.
func (s *sim) next(p *processor) {
	if len(p.queue) == 0 {
		p.busy = false
		return
	}
	d := p.queue[0]
	p.queue = p.queue[1:]
	d.queued = false
	n := d.inbox
	if b := stages[d.stage].batch; b > 0 {
		n = min(n, b)
	}
	d.inbox -= n

	took := float64(s.costs.PerDPC) + float64(n)*float64(s.costs.PerRequest)/float64(len(stages))
	if d.stage == 0 {
		took += s.line(p, n*s.load.Lines)
	}
	to, wake := &s.calls[d.channel][(d.stage+1)%len(stages)], 0.0
	if to.at != p {
		took += float64(s.costs.HandOver)
		wake = float64(s.costs.Wake)
		s.handOvers++
	}
	took = max(took, 1) // time goes on, whatever is said to cost nothing
	s.dpcs++
	p.load += took
	s.waited += took * float64(len(p.queue))
	s.worked += took
	s.after(took, func() {
		if d.inbox > 0 && !d.queued {
			d.queued = true
			p.queue = append(p.queue, d)
		}
		if to.stage == 0 {
			s.done += n
		}
		s.give(to, n, wake)
		s.next(p)
	})
}

// line is the time that a processor spends on writes to the shared line, which moves to it from another when that one has
// had it for its turn.
func (s *sim) line(p *processor, writes int) float64 {
	if writes == 0 || s.lineAt == p || len(s.procs) == 1 {
		return 0
	}
	begin := max(s.now, s.lineFree)
	s.lineFree = begin + float64(writes)*float64(s.costs.Line)
	s.lineAt = p
	return s.lineFree - s.now
}

func (s *sim) after(d float64, fn func()) {
	s.serial++
	heap.Push(&s.events, event{s.now + d, s.serial, fn})
}

// event is something that happens at a time; of several at a time the one that was foreseen first.
type event struct {
	at     float64
	serial int
	fn     func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
