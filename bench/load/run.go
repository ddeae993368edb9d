package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Config says what Run is to do.
type Config struct {
	Port  *miniport.Port
	Units []*miniport.Unit // by the numbers that jobs use
	Jobs  []Job
}

// runner is one Run.
type runner struct {
	Config
	sizes []capacity // of the units
	next  int        // whose processor a worker gets
}

type capacity struct{ bytes, block uint64 }

// Run does what the jobs say, all at a time, but for those with Stonewall, and returns when nothing of it is at a unit any
// more. When ctx ends the jobs end early; what they have done is in the report, beside ctx's error. Requests that failed
// and what verification found are in the report and not errors of Run. Errors: *OptionError; the units', when they
// cannot be asked for their capacity; no memory; ctx's.
func Run(ctx context.Context, c Config) (*Report, error) {
	r := &runner{Config: c}
	r.Jobs = make([]Job, len(c.Jobs))
	for i := range c.Jobs {
		r.Jobs[i] = c.Jobs[i]
		r.Jobs[i].settle()
		if err := r.Jobs[i].check(); err != nil {
			return nil, err
		}
		for _, n := range r.Jobs[i].Units {
			if n >= len(c.Units) {
				return nil, &OptionError{Job: r.Jobs[i].Name, Option: "unit", Value: fmt.Sprint(n), Want: fmt.Sprintf("want a unit from 0 to %d", len(c.Units)-1)}
			}
		}
	}
	for i, u := range c.Units {
		n, err := r.capacity(ctx, u)
		if err != nil {
			return nil, fmt.Errorf("unit %d: %w", i, err)
		}
		r.sizes = append(r.sizes, n)
	}
	report := &Report{Version: Version, Time: time.Now().Unix()}
	for len(r.Jobs) > 0 {
		n := 1
		for n < len(r.Jobs) && !r.Jobs[n].Stonewall {
			n++
		}
		if err := r.stage(ctx, r.Jobs[:n], report); err != nil {
			return report, err
		}
		r.Jobs = r.Jobs[n:]
	}
	return report, nil
}

// capacity asks a unit for its size. A unit tells first that something has happened to it.
func (r *runner) capacity(ctx context.Context, u *miniport.Unit) (capacity, error) {
	memory, free, err := r.memory(ctx, scsi.Capacity16Size)
	if err != nil {
		return capacity{}, err
	}
	defer free()
	for range maxAttentions {
		ask := scsi.ReadCapacity16{AllocationLength: scsi.Capacity16Size}
		s := &miniport.SRB{
			Direction: miniport.DataIn, Length: scsi.Capacity16Size,
			Data: []miniport.Segment{{Region: memory, Length: scsi.Capacity16Size}},
		}
		s.CDBLength = uint8(ask.Put(&s.CDB))
		if err = u.Exec(ctx, s); err != nil {
			if errors.Is(err, scsi.ErrUnitAttention) {
				continue
			}
			break
		}
		c, err := scsi.ParseCapacity16(memory.Bytes()[:s.Transferred])
		if err != nil {
			return capacity{}, err
		}
		n, ok := c.Bytes()
		if !ok || c.BlockSize == 0 {
			return capacity{}, fmt.Errorf("a capacity of %d blocks of %d bytes", c.LastLBA+1, c.BlockSize)
		}
		return capacity{n, uint64(c.BlockSize)}, nil
	}
	return capacity{}, err
}

// memory makes registered memory of n bytes.
func (r *runner) memory(ctx context.Context, n int) (*miniport.Region, func(), error) {
	a, err := arena.New(n)
	if err != nil {
		return nil, nil, err
	}
	region, err := r.Port.RegisterRegion(ctx, a)
	if err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return region, func() {
		r.Port.DeregisterRegion(ctx, region)
		a.Close()
	}, nil
}

// stage runs jobs side by side, and adds what they have done to the report.
func (r *runner) stage(ctx context.Context, jobs []Job, report *Report) (err error) {
	var workers [][]*worker
	for i := range jobs {
		var clones []*worker
		for clone := range jobs[i].Clones {
			w, free, err := r.worker(ctx, &jobs[i], clone)
			if err != nil {
				return err
			}
			defer free()
			clones = append(clones, w)
		}
		workers = append(workers, clones)
	}
	began, used := time.Now(), cpu()
	for _, clones := range workers {
		for _, w := range clones {
			w.launch(&w.kick)
		}
	}
	for _, clones := range workers {
		for _, w := range clones {
			select {
			case <-w.finished:
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
			w.launch(&w.stop)
			<-w.finished
		}
	}
	elapsed, used := time.Since(began), cpu().less(used)
	for i, clones := range workers {
		report.add(&jobs[i], clones)
	}
	report.count(elapsed, used)
	return err
}

// launch runs a DPC of the worker, and what comes of it until the drain's budget ends.
//
//level:passive
func (w *worker) launch(d *dispatch.DPC) {
	var f dispatch.Frame
	w.processor.Raise(&f)
	d.Queue(&f)
	f.Lower()
}

// worker makes a clone of a job, with its memory.
func (r *runner) worker(ctx context.Context, j *Job, clone int) (*worker, func(), error) {
	w := &worker{
		job: j, processor: r.Port.Processors()[r.next%len(r.Port.Processors())], finished: make(chan struct{}, 1),
		slots: make([]slot, j.Depth), free: make([]uint32, j.Depth), idle: j.Depth,
		random: random(mix(j.Seed) + uint64(clone)), faults: make([]Fault, 0, keptFaults),
	}
	r.next++
	w.content = newContent(j, mix(j.Seed^uint64(time.Now().UnixNano())+uint64(r.next)<<56))
	for _, n := range j.Units {
		if err := w.addPlace(r, n, clone); err != nil {
			return nil, nil, err
		}
	}
	step := (int(j.largest()) + arena.PageSize - 1) &^ (arena.PageSize - 1)
	region, free, err := r.memory(ctx, step*j.Depth)
	if err != nil {
		return nil, nil, err
	}
	scatter(region.Bytes(), mix(j.Seed))
	w.stats.init(j)
	for i := range w.slots {
		s := &w.slots[i]
		s.worker, s.index, w.free[i] = w, uint32(i), uint32(len(w.slots)-1-i)
		s.srb.Data = []miniport.Segment{{Region: region, Offset: uint64(i * step), Length: j.largest()}}
		s.memory = s.srb.Data[0].Bytes()
		s.srb.Done = s.done
	}
	w.kick.Init(w.processor, w.begin)
	w.stop.Init(w.processor, w.end)
	w.timer.Init(w.processor, w.fill)
	return w, free, nil
}

// addPlace gives a worker its region of a unit.
func (w *worker) addPlace(r *runner, n, clone int) error {
	j, c := w.job, r.sizes[n]
	bad := func(option string, value any, want string, args ...any) error {
		return &OptionError{Job: j.Name, Option: option, Value: fmt.Sprint(value), Want: fmt.Sprintf(want, args...)}
	}
	p := place{unit: r.Units[n], number: n, align: uint64(j.align()), repeat: j.Repeat}
	p.from = j.Offset + uint64(clone)*j.Increment
	p.end = c.bytes
	if j.Size > 0 {
		p.end = p.from + j.Size
	}
	w.blockSize = c.block
	switch {
	case p.align%c.block != 0:
		return bad("bs", p.align, "want multiples of unit %d's blocks of %d bytes", n, c.block)
	case p.from%p.align != 0:
		return bad("offset", p.from, "want a multiple of the block size, %d", p.align)
	case p.end > c.bytes || p.from >= p.end:
		return bad("size", j.Size, "want a region within unit %d, which has %d bytes; clone %d begins at %d", n, c.bytes, clone, p.from)
	}
	for i := range w.places {
		if r.sizes[w.places[i].number].block != c.block {
			return bad("unit", n, "want units of one block size; it has %d, unit %d has %d", c.block, w.places[i].number, r.sizes[w.places[i].number].block)
		}
	}
	p.end -= (p.end - p.from) % p.align
	p.count = (p.end - p.from) / p.align
	if p.count == 0 {
		return bad("size", j.Size, "want room for a block of %d bytes", p.align)
	}
	p.reset(mix(j.Seed + uint64(clone)<<20 + uint64(n)))
	if j.Verify != VerifyNone {
		p.written, p.busy = make([]uint32, p.count), make([]uint16, p.count)
	}
	w.places = append(w.places, p)
	return nil
}

// usage is processor time that this process has used.
type usage struct{ user, system time.Duration }

func cpu() usage {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return usage{}
	}
	return usage{time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())}
}

func (u usage) less(v usage) usage { return usage{u.user - v.user, u.system - v.system} }
