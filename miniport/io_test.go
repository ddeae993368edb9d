package miniport

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs/dispatch"
)

// A command whose answer is lost is aborted at its deadline, and completes once, with a
// status that says that its effect is unknown; others and the session are not touched
// (E12). Its credit comes back with the answer to the abort.
func TestLostAnswerIsAborted(t *testing.T) {
	inWorld(t, worldConfig{procs: 2, units: 2}, func(t *testing.T, w *world) {
		w.works()
		w.faults("lose,op=read,times=1")
		q := w.rw(false, 0, 8, 0).submit(1, w.units[0])
		p := w.rw(true, 0, 8, 4096).submit(1, w.units[1])
		after(time.Second)
		if !q.pending() || p.ended() != StatusSuccess {
			t.Fatalf("%s, %s", q.Status, p.Status)
		}
		after(2 * time.Second)
		if st := q.ended(); st != StatusTimeout || st.NotExecuted() {
			t.Errorf("%s", st)
		}
		w.settled(1)
		if c := w.units[0].Counters(); c.Aborts != 1 || c.Resets != 0 || c.InFlight != 0 {
			t.Errorf("%+v", c)
		}
		w.works()
	})
}

// When an abort is not answered the unit is reset, on each channel that has commands of
// it, and nothing else; what was started there completes (E10, E11).
func TestUnitResetByTheTarget(t *testing.T) {
	inWorld(t, worldConfig{procs: 2, units: 2}, func(t *testing.T, w *world) {
		w.works()
		w.faults("lose,op=read,lun=0; lose,op=abort")
		var all []*io
		for i := range uint32(6) {
			q := w.rw(false, 8*i, 8, uint64(i)*4096)
			if i >= 2 {
				q.Timeout = time.Hour
			}
			all = append(all, q.submit(int(i%2), w.units[0]))
		}
		after(9 * time.Second)
		for i, q := range all {
			want := StatusTimeout
			if i >= 2 {
				want = StatusBusReset
			}
			if st := q.ended(); st != want {
				t.Errorf("SRB %d: %s, want %s", i, st, want)
			}
		}
		if c := w.units[0].Counters(); c.Resets != 1 {
			t.Errorf("%+v", c)
		}
		w.settled(1)
		functions := uint64(0)
		sessions, err := w.peer.Sessions(t.Context())
		w.must(err)
		for _, c := range sessions[0].Channels {
			if c.Functions < 2 {
				t.Errorf("a channel got %d functions, want an abort and a reset", c.Functions)
			}
			functions += c.Functions
		}
		if functions != 4 {
			t.Errorf("%d functions", functions)
		}
		w.faults("")
		w.works()
	})
}

// When no function is answered the session is made anew; every unit of the target has
// its commands back, and works (E11).
func TestTargetThatAnswersNothing(t *testing.T) {
	inWorld(t, worldConfig{procs: 2, units: 2}, func(t *testing.T, w *world) {
		w.works()
		w.faults("lose,op=read; lose,op=tmf")
		q := w.rw(false, 0, 8, 0).submit(0, w.units[0])
		p := w.rw(false, 0, 8, 4096)
		p.Timeout = time.Hour
		p.submit(1, w.units[1])
		begun := time.Now()
		after(time.Minute)
		w.faults("")
		if st, d := q.ended(), q.at.Sub(begun); st != StatusTimeout || d < 17*time.Second || d > 20*time.Second {
			t.Errorf("%s after %v", st, d)
		}
		if st := p.ended(); st != StatusBusReset {
			t.Errorf("%s", st)
		}
		after(time.Minute)
		w.settled(2)
		w.works()
	})
}

// Resets under load end in bounded time, a hundred of them, and the unit comes back each
// time (F23).
func TestHundredResetsUnderLoad(t *testing.T) {
	inWorld(t, worldConfig{procs: 2, units: 2}, func(t *testing.T, w *world) {
		w.works()
		stop := false
		var all []*io
		for i := range uint32(8) {
			q := w.rw(i%2 == 0, 64*i, 8, uint64(i)*4096)
			u, done := w.units[i/2%2], q.Done
			q.Done = func(f *dispatch.Frame, s *SRB) {
				if stop {
					done(f, s)
				} else {
					u.Submit(f, s)
				}
			}
			all = append(all, q)
		}
		// Loads that never rest would keep the bubble from its next moment.
		w.faults("delay=10ms,op=read; delay=10ms,op=write")
		for i, q := range all {
			q.submit(i%2, w.units[i/2%2])
		}
		resets := 100
		if testing.Short() {
			resets = 20
		}
		for range resets {
			w.onProcessor(func(f *dispatch.Frame) {
				l := w.units[0].lanes[0]
				if s := l.out; s != nil && s.stage == stageStarted {
					l.ex.escalate(f, s)
				}
			})
			after(time.Second)
			if g := w.units[0].gate.Load(); g != 0 {
				t.Fatalf("the gate is closed a second after a reset: %#x", g)
			}
		}
		w.onProcessor(func(*dispatch.Frame) { stop = true })
		after(time.Second)
		for _, q := range all {
			q.ended()
		}
		if c := w.units[0].Counters(); c.Resets < uint64(resets)*9/10 {
			t.Errorf("%d resets", c.Resets)
		}
		w.faults("")
		w.settled(1)
		w.works()
	})
}

// A response that comes after its command was given up is counted and credited, and
// touches nothing else (E29, E16).
func TestLateResponse(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		w.works()
		w.faults("ghost=30s,op=read,times=1")
		q := w.rw(false, 0, 8, 0).submit(0, w.units[0])
		after(4 * time.Second)
		if st := q.ended(); st != StatusTimeout {
			t.Fatalf("%s", st)
		}
		q = w.rw(false, 0, 8, 0)
		q.Timeout = time.Hour
		w.gates[0].Shut()
		q.submit(0, w.units[0])
		<-w.gates[0].Arrived()
		after(time.Minute)
		if !q.pending() {
			t.Fatalf("%s: the late response has ended another command", q.Status)
		}
		if s := w.target.Channels(t.Context()); s[0].Stats.Late != 1 {
			t.Errorf("%+v", s[0])
		}
		w.gates[0].Open()
		if st := q.ended(); st != StatusSuccess {
			t.Errorf("%s", st)
		}
		w.settled(1)
	})
}

// A unit's trouble is its own: the session and other units are not touched (E28), and
// sense data comes with its length (E17).
func TestSenseData(t *testing.T) {
	inWorld(t, worldConfig{units: 2}, func(t *testing.T, w *world) {
		w.works()
		w.faults("sense=b/0800,lun=0") // aborted command, LUN communication failure
		q := w.rw(false, 0, 8, 0).submit(0, w.units[0])
		if st := q.ended(); st != StatusError || q.SCSIStatus != scsi.StatusCheckCondition || len(q.Sense()) < 18 || !errors.Is(q.Err(), scsi.ErrAborted) {
			t.Errorf("%s, %s, %x: %v", st, q.SCSIStatus, q.Sense(), q.Err())
		}
		w.units[0], w.units[1] = w.units[1], w.units[0]
		if st := w.rw(false, 0, 8, 0).submit(0, w.units[0]).ended(); st != StatusSuccess {
			t.Errorf("the other unit: %s", st)
		}
		w.settled(1)
		w.faults("")
		w.works()
		q = w.rw(false, worldBlocks, 8, 0).submit(0, w.units[0])
		if q.ended(); !errors.Is(q.Err(), scsi.ErrLBAOutOfRange) {
			t.Errorf("%v", q.Err())
		}
		w.faults("status=busy,times=3")
		q = w.rw(false, 0, 8, 0)
		q.submit(0, w.units[0])
		after(4 * busyPause)
		if st := q.ended(); st != StatusSuccess {
			t.Errorf("after three times BUSY: %s", st)
		}
		w.faults("status=task-set-full,times=2")
		q = w.rw(false, 0, 8, 0)
		q.submit(0, w.units[0])
		after(4 * busyPause)
		if st := q.ended(); st != StatusSuccess {
			t.Errorf("after two times TASK SET FULL: %s", st)
		}
	})
}

// All pieces that an SRB may have are sent, of any length, under every protection; one
// more is refused, without a command (E22). So is what fits together in no way (E30).
func TestPiecesOfMemory(t *testing.T) {
	for _, p := range []srp.Protect{srp.ProtectIO, srp.ProtectBounce, srp.ProtectRegion} {
		t.Run(p.String(), func(t *testing.T) {
			inWorld(t, worldConfig{protect: p, session: func(c *srp.SessionConfig) { c.DescriptorsInIU = maxSegments }}, func(t *testing.T, w *world) {
				w.works()
				b := w.memory.Bytes()
				pieces := func(n int, at uint64) (d []Segment) {
					for i := range n {
						d = append(d, Segment{Region: w.memory, Offset: at + uint64(i)*1024, Length: uint32(i%3+1) * 128})
					}
					return d
				}
				for n := 4; n <= maxSegments; n += 4 {
					q := w.rw(true, 0, 1, 0)
					q.Data, q.Length = pieces(n, 0), 0
					for _, d := range q.Data {
						q.Length += d.Length
					}
					blocks := q.Length / 512
					if q.Length%512 != 0 {
						q.Data = append(q.Data[:n-1:n-1], Segment{w.memory, q.Data[n-1].Offset, q.Data[n-1].Length + 512 - q.Length%512})
						q.Length = (blocks + 1) * 512
						blocks++
					}
					var want []byte
					for i, d := range q.Data {
						fill(d.Bytes(), byte(n+i))
						want = append(want, d.Bytes()...)
					}
					q.CDBLength = uint8((&scsi.RW{Write: true, Blocks: blocks}).Put(&q.CDB))
					if st := q.submit(0, w.units[0]).ended(); st != StatusSuccess {
						t.Fatalf("write of %d pieces: %s", n, st)
					}
					if !bytes.Equal(w.stores[0].Mapping().Memory.Bytes()[:len(want)], want) {
						t.Fatalf("write of %d pieces: other data", n)
					}
					fill(b[:64<<10], 0)
					q.count.Store(0)
					q.Direction = DataIn
					q.CDBLength = uint8((&scsi.RW{Blocks: blocks}).Put(&q.CDB))
					if st := q.submit(0, w.units[0]).ended(); st != StatusSuccess {
						t.Fatalf("read into %d pieces: %s", n, st)
					}
					var got []byte
					for _, d := range q.Data {
						got = append(got, d.Bytes()...)
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("read into %d pieces: other data", n)
					}
				}
				seg := Segment{Region: w.memory, Length: 512}
				foreign := NewRegion(w.memory.arena)
				for name, change := range map[string]func(q *io){
					"17 pieces":          func(q *io) { q.Data = pieces(maxSegments+1, 0) },
					"data both ways":     func(q *io) { q.Direction = 3 },
					"no region":          func(q *io) { q.Data = []Segment{{Length: 512}} },
					"unknown region":     func(q *io) { q.Data = []Segment{{Region: foreign, Length: 512}} },
					"beyond the region":  func(q *io) { q.Data = []Segment{{Region: w.memory, Offset: worldMemory - 256, Length: 512}} },
					"far beyond":         func(q *io) { q.Data = []Segment{{Region: w.memory, Offset: 1<<64 - 256, Length: 512}} },
					"wrong sum":          func(q *io) { q.Data = []Segment{seg, seg} },
					"empty piece":        func(q *io) { q.Data = []Segment{seg, {Region: w.memory}} },
					"no CDB":             func(q *io) { q.CDBLength = 0 },
					"long CDB":           func(q *io) { q.CDBLength = 255 },
					"data and no length": func(q *io) { q.Length = 0 },
				} {
					q := w.rw(false, 0, 1, 0)
					change(q)
					q.submit(0, w.units[0])
					if st := q.ended(); st != StatusInvalidRequest || !st.NotExecuted() || q.Err() == nil {
						t.Errorf("%s: %s", name, st)
					}
				}
				w.works()
			})
		})
	}
}

// A response that says that the target did not take a command for one is no success,
// whatever its status (E13).
func TestRefusedByResponseCode(t *testing.T) {
	m := &script{t: t}
	p := dispatch.NewManual("p")
	port := &Port{config: Config{Processors: []*dispatch.Processor{p}}}
	e := newExecutor(port, p, 0)
	port.execs = append(port.execs, e)
	m.a = &Adapter{port: port, mp: m}
	tgt := newTarget(nil, TargetConfig{}, 1)
	path := &Path{adapter: m.a, target: tgt}
	u := newUnit(port, "", scsi.StandardInquiry{}, path)
	for outcome, want := range map[srp.Outcome]Status{
		srp.Refused: StatusInvalidRequest, srp.Aborted: StatusBusReset, srp.ChannelDown: StatusBusReset, srp.Completed: StatusSuccess,
	} {
		s := &SRB{Done: func(*dispatch.Frame, *SRB) {}}
		var f dispatch.Frame
		p.Raise(&f)
		s.unit, s.path, s.lane, s.stage = u, path, u.lanes[0], stageStarted
		u.lanes[0].out, u.lanes[0].outN = s, 1
		u.inflight.Store(1)
		s.ext.request = srp.Request{Owner: s, Outcome: outcome, Code: srp.ResponseFieldsInvalid}
		requestDone(&f, &s.ext.request)
		f.Lower()
		if s.Status != want {
			t.Errorf("%s: %s, want %s", outcome, s.Status, want)
		}
	}
}

// Few credits, given back late and changed on the way, and many lanes: nothing is parked
// while there is room (E19, E20). With one of two credits at a command whose answer is
// lost, its abort goes before what waits (E21).
func TestFewCreditsUnderLoad(t *testing.T) {
	for _, c := range []struct {
		name, faults      string
		credits, timeouts int
	}{
		{"changing", "cred-req=-2,every=7; cred-req=3,every=11; withhold=1,every=13", 4, 0},
		{"lost", "lose,op=read,skip=20,times=1", 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, worldConfig{procs: 2, units: 4, target: func(tc *target.Config) { tc.Credits = c.credits }}, func(t *testing.T, w *world) {
				w.works()
				w.faults(c.faults)
				var all []*io
				for i := range uint32(300) {
					q := w.rw(i%2 == 0, i*8, 8, uint64(i)*4096)
					all = append(all, q.submit(int(i%2), w.units[i/2%4]))
				}
				after(4 * time.Second)
				timeouts := 0
				for i, q := range all {
					switch st := q.ended(); st {
					case StatusTimeout:
						timeouts++
					case StatusSuccess:
					default:
						t.Fatalf("SRB %d: %s", i, st)
					}
				}
				if timeouts != c.timeouts {
					t.Errorf("%d timeouts, want %d", timeouts, c.timeouts)
				}
				w.settled(1)
				for _, u := range w.units {
					if c := u.Counters(); c.Resets != 0 || c.InFlight != 0 {
						t.Errorf("%+v", c)
					}
				}
			})
		})
	}
}

// Data stay right through losses of the session and resets of the unit: what was
// written is read, what a failed write has left is the old or the new, and no write has an
// effect after it was given up and another has followed.
func TestDataThroughLosses(t *testing.T) {
	inWorld(t, worldConfig{procs: 2, units: 2}, func(t *testing.T, w *world) {
		w.works()
		w.faults("delay=30ms,every=5; late=40ms,every=3; lose,op=read,every=41; ghost=3s,op=write,every=37")
		ctx, cancel := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		var good, lost atomic.Int32
		for g := range 6 {
			workers.Go(func() {
				mem := w.memory.Bytes()[g*8192:][:4096]
				do := func(write bool) Status {
					q := w.rw(write, uint32(g)*64, 8, uint64(g)*8192)
					done := make(chan struct{})
					q.Done = func(*dispatch.Frame, *SRB) { close(done) }
					q.submit(g%2, w.units[g/2%2])
					<-done
					return q.Status
				}
				may := map[byte]bool{0: true} // what the blocks may hold
				for v := byte(1); ctx.Err() == nil; v++ {
					fill(mem, v)
					if st := do(true); st == StatusSuccess {
						clear(may)
						good.Add(1)
					} else if st.NotExecuted() {
						continue
					} else {
						lost.Add(1)
					}
					may[v] = true
					fill(mem, 0)
					if do(false) != StatusSuccess {
						continue
					}
					now := map[byte]bool{}
					for _, x := range mem {
						now[x] = true
					}
					for x := range now {
						if !may[x] {
							t.Errorf("read %d, may be %v", x, may)
						}
					}
					may = now
				}
			})
		}
		for range 40 {
			after(700 * time.Millisecond)
			w.do("disconnect")
		}
		cancel()
		workers.Wait()
		if good.Load() < 100 || lost.Load() < 10 {
			t.Errorf("%d writes, %d of unknown effect", good.Load(), lost.Load())
		}
	})
}
