package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"minisrp/test/durable/daemon"
	"minisrp/test/durable/nbdclient"
)

// Config says what to test, and how.
type Config struct {
	Argv []string // the daemon; it must stay in the foreground, keep its state between lives, and need no help to start
	Env  []string // added to the environment
	URI  string   // of the export; empty: the daemon prints it

	Rounds      int           // lives of the daemon that are ended by a kill; 0 means 50
	Seed        uint64        // of everything that is drawn
	Connections int           // 0 means 4; 1 where the server does not say that a flush covers all connections
	Area        uint64        // bytes of the device that are written; 0 means 32 MiB
	MaxRequests int           // replies before a kill, at most; 0 means 3000
	MaxRound    time.Duration // before a kill, at most; 0 means 2 s
	StartTime   time.Duration // for the daemon to be connected; 0 means 30 s

	// End ends a life at once, where that is not done by SIGKILL; nil otherwise.
	End func() error

	Log    io.Writer // a line a round; may be nil
	Output io.Writer // what the daemon prints; may be nil
}

func (c *Config) defaults() {
	def := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	def(&c.Rounds, 50)
	def(&c.Connections, 4)
	def(&c.MaxRequests, 3000)
	if c.Area == 0 {
		c.Area = 32 << 20
	}
	if c.MaxRound == 0 {
		c.MaxRound = 2 * time.Second
	}
	if c.StartTime == 0 {
		c.StartTime = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
}

// stopTime is how long the daemon may take to end after SIGTERM.
const stopTime = 30 * time.Second

// run is a test in progress.
type run struct {
	cfg    Config
	rng    *rand.Rand
	daemon *daemon.Daemon
	conns  []*nbdclient.Conn
	record *record // nil until the first connection
	report *Report
	seq    uint64 // of the last request
}

// Run tests a daemon: it lets it live and kills it as often as cfg says, then starts it once more, compares for the
// last time, and asks it to end. The report is there also with an error, up to where the test got.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	cfg.defaults()
	r := &run{
		cfg:    cfg,
		rng:    rand.New(rand.NewPCG(cfg.Seed, 0)),
		report: &Report{Seed: cfg.Seed, Requests: make(map[string]int)},
	}
	err := r.rounds(ctx)
	r.disconnect()
	if r.daemon != nil && r.daemon.Ended() == nil {
		r.daemon.Kill()
	}
	return r.report, err
}

func (r *run) rounds(ctx context.Context) error {
	for round := 1; ; round++ {
		if err := r.start(ctx); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		before := *r.report
		if err := r.compare(round - 1); err != nil {
			return fmt.Errorf("reading back what round %d has left: %w", round-1, err)
		}
		if round > 1 {
			fmt.Fprintf(r.cfg.Log, "round %d: blocks with an unanswered write %d, without an answered one that was not durable %d, wrong %d\n",
				round-1, r.report.Unanswered-before.Unanswered, r.report.Forgotten-before.Forgotten, r.report.Blocks-before.Blocks)
		}
		if !r.report.OK() || round > r.cfg.Rounds {
			break
		}
		if err := r.load(ctx, round); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		r.report.Rounds = round
	}
	r.disconnect()
	return r.daemon.Stop(stopTime)
}

// start starts the daemon and connects; now and then it kills it in between, and starts it again.
func (r *run) start(ctx context.Context) error {
	command := daemon.Command{Argv: r.cfg.Argv, Env: r.cfg.Env, URI: r.cfg.URI, End: r.cfg.End, Output: r.cfg.Output}
	var err error
	if r.record != nil && r.rng.IntN(6) == 0 {
		if r.daemon, err = daemon.Start(command); err != nil {
			return err
		}
		early, cancel := context.WithTimeout(ctx, time.Duration(r.rng.Int64N(int64(2*r.report.StartUp[0]))))
		_, err := r.daemon.Ready(early)
		<-early.Done()
		cancel()
		var ended *daemon.EndedError
		if errors.As(err, &ended) {
			return err
		}
		if err := r.daemon.Kill(); err != nil {
			return err
		}
		r.report.StartKills++
	}

	began := time.Now()
	if r.daemon, err = daemon.Start(command); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.cfg.StartTime, fmt.Errorf("no export within %v", r.cfg.StartTime))
	defer cancel()
	uri, err := r.daemon.Ready(ctx)
	if err != nil {
		return err
	}
	address, err := nbdclient.ParseURI(uri)
	if err != nil {
		return err
	}
	if err := r.connect(ctx, address); err != nil {
		return fmt.Errorf("connecting to %s: %w", uri, err)
	}
	r.report.StartUp = append(r.report.StartUp, time.Since(began))
	if r.record == nil {
		return r.prepare()
	}
	return nil
}

// connect connects as often as configured. Where the URI was given, the first connection waits for the server.
func (r *run) connect(ctx context.Context, address nbdclient.Address) error {
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	for {
		c, err := nbdclient.Dial(ctx, address)
		switch {
		case err == nil:
			r.conns = append(r.conns, c)
			if len(r.conns) == r.cfg.Connections || c.Export.Flags&nbdclient.CanMultiple == 0 {
				return nil
			}
			continue
		case r.cfg.URI == "" || len(r.conns) > 0 || errors.Is(err, nbdclient.ErrProtocol):
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-retry.C:
			if ended := r.daemon.Ended(); ended != nil {
				return ended
			}
		}
	}
}

func (r *run) disconnect() {
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// prepare chooses the area, and writes zeros all over it.
func (r *run) prepare() error {
	c := r.conns[0]
	e := c.Export
	if e.Flags&nbdclient.ReadOnly != 0 || e.Flags&nbdclient.CanFlush == 0 {
		return fmt.Errorf("the export (transmission flags %#x) cannot be written and flushed", uint16(e.Flags))
	}
	a, err := newArea(e.Size, e.MinBlock, e.MaxBlock, r.cfg.Area, rand.Uint32())
	if err != nil {
		return err
	}
	r.record = newRecord(a, r.cfg.Connections)
	zeros := make([]byte, a.most*blockSize)
	err = r.whole(func(offset uint64, _ uint64, n uint64) error {
		return c.Do(nbdclient.Request{Cmd: nbdclient.Write, Offset: offset, Length: uint32(n * blockSize), Data: zeros[:n*blockSize]}, nil)
	})
	if err != nil {
		return fmt.Errorf("writing zeros: %w", err)
	}
	return c.Do(nbdclient.Request{Cmd: nbdclient.Flush}, nil)
}

// whole calls f for the whole area, piece by piece.
func (r *run) whole(f func(offset, block, n uint64) error) error {
	a := &r.record.area
	for w, start := range a.starts {
		for at := uint64(0); at < a.window; {
			n := min(a.most, a.window-at)
			if err := f((start+at)*blockSize, uint64(w)*a.window+at, n); err != nil {
				return err
			}
			at += n
		}
	}
	return nil
}

// compare reads the area and compares it with the record. In half of the rounds it flushes afterwards; in the others
// what is older may still come back at the next kill.
func (r *run) compare(round int) error {
	c, rep := r.conns[0], r.report
	data, scratch := make([]byte, r.record.area.most*blockSize), make([]byte, blockSize)
	err := r.whole(func(offset, block, n uint64) error {
		if err := c.Do(nbdclient.Request{Cmd: nbdclient.Read, Offset: offset, Length: uint32(n * blockSize)}, data[:n*blockSize]); err != nil {
			return err
		}
		for i := range n {
			found, lost, v := r.record.observe(block+i, data[i*blockSize:][:blockSize], scratch)
			if round > 0 {
				rep.Checked++
			}
			switch {
			case v != nil:
				v.Round = round
				rep.violation(v)
				continue
			case !found.answered:
				rep.Unanswered++
			}
			for _, o := range lost {
				if o.answered && o.kind != trimmed {
					rep.Forgotten++
					break
				}
			}
		}
		return nil
	})
	if err != nil || !rep.OK() || r.rng.IntN(2) == 0 {
		return err
	}
	if err := c.Do(nbdclient.Request{Cmd: nbdclient.Flush}, nil); err != nil {
		return err
	}
	r.record.settle()
	return nil
}

// load lets the connections work, and kills the daemon at a random moment.
func (r *run) load(ctx context.Context, round int) error {
	s := &session{
		run: r, flags: r.conns[0].Export.Flags, round: uint32(round),
		rng:     rand.New(rand.NewPCG(r.cfg.Seed, uint64(round))),
		killAt:  1 + r.rng.IntN(r.cfg.MaxRequests),
		reached: make(chan struct{}), failed: make(chan struct{}),
	}
	began := time.Now()
	wait := s.start(r.conns)
	limit := time.NewTimer(r.cfg.MaxRound)
	defer limit.Stop()
	select {
	case <-s.reached:
		// The moment should not lie right behind a reply.
		limit.Reset(time.Duration(r.rng.Int64N(int64(3 * time.Millisecond))))
		select {
		case <-limit.C:
		case <-s.failed:
		}
	case <-limit.C:
	case <-s.failed:
	case <-ctx.Done():
	}
	s.expectEnd()
	life := time.Since(began)
	err := r.daemon.Kill()
	wait.Wait()
	r.disconnect()
	r.record.killed()
	switch {
	case err != nil:
		return err
	case s.err != nil:
		return s.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.replies == 0:
		return fmt.Errorf("no reply within %v", r.cfg.MaxRound)
	}
	fmt.Fprintf(r.cfg.Log, "round %d: killed after %v and %d replies\n", round, life.Round(time.Millisecond), s.replies)
	return nil
}
