package suite

import (
	"context"
	"maps"
	"time"

	"minisrp/bench/model"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
)

// The contestants in this process; two of a kind submit on two processors.
const (
	memcpy    = "memcpy"
	bareModel = "model"
	path      = "path"
	twice     = " ×2"
)

// inProcess says what the contestants are that are no programs.
var inProcess = map[string]string{
	memcpy:            "copies alone, at the places of the path's sequence",
	bareModel:         "one queue entry, one copy, one completion a request; inline, no protocol",
	path:              "miniport, SRP, two queue pairs of the software HCA, target, ram unit; protect=io",
	memcpy + twice:    "the same from two goroutines",
	bareModel + twice: "the same from two goroutines",
	path + twice:      "the same from two goroutines, on two processors",
	idle:              "a thread fires CQs, and nothing else runs",
	loaded:            "beside it four goroutines burn CPU, and badger takes writes and compacts",
}

// addLoopback adds the path within one process, beside the model of its work and the bare copies.
func (s *Suite) addLoopback() {
	for _, c := range []struct {
		name, title string
		model.Case
	}{
		{"read-4k-1", "4 KiB read, depth 1", model.Case{Size: 4 << 10, Depth: 1}},
		{"write-4k-1", "4 KiB write, depth 1", model.Case{Size: 4 << 10, Depth: 1, Write: true}},
		{"read-4k-32", "4 KiB read, depth 32", model.Case{Size: 4 << 10, Depth: 32}},
		{"write-4k-32", "4 KiB write, depth 32", model.Case{Size: 4 << 10, Depth: 32, Write: true}},
		{"read-128k-8", "128 KiB read, depth 8", model.Case{Size: 128 << 10, Depth: 8}},
	} {
		name, title := "loopback-"+c.name, "loopback "+c.title
		s.loopback(name, title, c.Case, false)
		switch {
		case c.Depth == 1:
			s.lower(name, name, title, "time a request / model", 3, 2, inverse(ratio(iops, path, bareModel)))
		case c.Depth == 32:
			s.figure(name, name, title, "requests/s / model", 0.35, 0.6, ratio(iops, path, bareModel))
		default:
			s.figure(name, name, title, "bytes/s / model", 0.7, 0.9, ratio(throughput, path, bareModel))
		}
		// What else runs on the machine does not count there.
		s.lower(name, name+"-cpu", title, "CPU a request / model", 0, 0, ratio(serverCPU, path, bareModel))
	}
	const scaling = "loopback-scaling"
	c := model.Case{Size: 4 << 10, Depth: 32}
	s.loopback(scaling, "loopback 4 KiB read, depth 32, one and two submitters", c, true)
	s.figure(scaling, scaling, "two submitters on two processors", "our scaling / the model's", 0.8, 0.95, scales)

	s.lower("loopback-read-4k-1", "model-4k", "the model, 4 KiB read, depth 1", "time beyond memcpy", 0.5, 0, beyondMemcpy)
	s.rules[len(s.rules)-1].Unit = "µs"
	s.figure("loopback-read-128k-8", "model-128k", "the model, 128 KiB read, depth 8", "bytes/s / memcpy", 0.85, 0, ratio(throughput, bareModel, memcpy))
}

// plan is how the contestants take turns within a round.
var plan = model.Plan{Rounds: 9, Turn: 20 * time.Millisecond}

// loopback adds a group in this process.
func (s *Suite) loopback(name, title string, c model.Case, scaling bool) {
	mode := "randread"
	if c.Write {
		mode = "randwrite"
	}
	g := rounds.Group{
		Name: name, Title: title, Client: "in this process, one goroutine a submitter",
		Load: result.Load{Mode: mode, Block: c.Size, Depth: c.Depth},
	}
	names := []string{memcpy, bareModel, path}
	for _, n := range names {
		g.Contestants = append(g.Contestants, rounds.Contestant{Name: n})
		if scaling {
			g.Contestants = append(g.Contestants, rounds.Contestant{Name: n + twice})
		}
	}
	g.Together = func(ctx context.Context) (map[string]result.Sample, error) {
		samples, err := s.turns(ctx, c, "")
		if err != nil || !scaling {
			return samples, err
		}
		c.Lanes = 2
		two, err := s.turns(ctx, c, twice)
		c.Lanes = 1
		maps.Copy(samples, two)
		return samples, err
	}
	s.groups = append(s.groups, g)
}

// turns measures memcpy, model and path at a case.
func (s *Suite) turns(ctx context.Context, c model.Case, suffix string) (map[string]result.Sample, error) {
	if s.bed == nil {
		var err error
		if s.bed, err = model.New(ctx, model.Config{Unit: s.cfg.Size, Lanes: 2}); err != nil {
			return nil, err
		}
	}
	r, err := s.bed.Measure(ctx, c, plan)
	if err != nil {
		return nil, err
	}
	samples := map[string]result.Sample{}
	for name, took := range r.Time {
		ns := took.Median() // a request
		samples[name+suffix] = result.Sample{
			IOPS: 1e9 / ns, Bytes: 1e9 / ns * float64(c.Size), Runtime: (time.Duration(plan.Rounds) * plan.Turn).Seconds(),
			ServerCPU: r.CPU[name].Median() / 1e3,
		}
	}
	return samples, nil
}

// scales puts how our path gains from a second submitter in relation to how the model does.
func scales(r result.Round) (float64, error) {
	ours, err := ratio(iops, path+twice, path)(r)
	if err != nil {
		return 0, err
	}
	models, err := ratio(iops, bareModel+twice, bareModel)(r)
	return ours / models, err
}

// beyondMemcpy returns the model's time a request over that of the copy alone, in µs.
func beyondMemcpy(r result.Round) (float64, error) {
	m, err := value(iops, r, bareModel)
	if err != nil {
		return 0, err
	}
	c, err := value(iops, r, memcpy)
	return 1e6/m - 1e6/c, err
}
