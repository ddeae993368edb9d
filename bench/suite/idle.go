package suite

import (
	"context"
	"time"

	"minisrp/bench/fio"
	"minisrp/bench/peer"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
)

// addIdle adds the daemon as make run starts it, when a client has come, written, read, and gone.
func (s *Suite) addIdle() {
	quiet := max(2*time.Second, 2*s.cfg.Duration)
	wait := func(ctx context.Context, _ string) (result.Sample, error) {
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
		}
		return result.Sample{Runtime: quiet.Seconds()}, ctx.Err()
	}
	j := fio.Job{Load: result.Load{Mode: "randrw", Block: 64 << 10, Depth: 32}, Span: 64 << 20}
	g := rounds.Group{Name: "idle", Title: "the daemon as make run starts it, without clients", Contestants: []rounds.Contestant{
		s.contestant(peer.SrpdRun, run(j), wait),
	}}
	s.groups = append(s.groups, g)
	s.lower(g.Name, "idle-memory", "idle daemon", "resident memory", 150, 80, only(mebibytes, peer.SrpdRun.Name))
	s.rules[len(s.rules)-1].Unit = "MiB"
	s.lower(g.Name, "idle-cpu", "idle daemon", "CPU of a core", 1, 0, only(percent, peer.SrpdRun.Name))
	s.rules[len(s.rules)-1].Unit = "%"
}
