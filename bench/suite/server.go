package suite

import (
	"context"
	"fmt"
	"time"

	"minisrp/bench/fio"
	"minisrp/bench/host"
	"minisrp/bench/peer"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
)

// client loads a server at a URI.
type client func(ctx context.Context, uri string) (result.Sample, error)

// contestant makes one of a server and the client that loads it, when prepare has made the server ready the first time.
func (s *Suite) contestant(k peer.Kind, prepare, load client) rounds.Contestant {
	s.kinds[k.Name] = k
	return rounds.Contestant{Name: k.Name, Measure: func(ctx context.Context) (result.Sample, error) {
		server, err := s.cfg.Pool.Get(ctx, k)
		if err != nil {
			return result.Sample{}, err
		}
		if !server.Warm {
			if _, err := prepare(ctx, server.URI); err != nil {
				return result.Sample{}, fmt.Errorf("going over the disk: %w", err)
			}
			server.Warm = true
		}
		return observe(ctx, server, load)
	}}
}

// observe adds what the server used to what the client found.
func observe(ctx context.Context, server *peer.Server, load client) (result.Sample, error) {
	before, err := host.CPU(server.PID)
	if err != nil {
		return result.Sample{}, err
	}
	sample, err := load(ctx, server.URI)
	if err != nil {
		return sample, err
	}
	after, err := host.CPU(server.PID)
	if err != nil {
		return sample, err
	}
	used := after - before
	if sample.IOs > 0 {
		sample.ServerCPU = float64(used.Nanoseconds()) / float64(time.Microsecond.Nanoseconds()) / float64(sample.IOs)
	} else {
		sample.IdleCPU = used.Seconds() / sample.Runtime
	}
	sample.Resident, err = host.Memory(server.PID)
	return sample, err
}

// run has fio do a job.
func run(j fio.Job) client {
	return func(ctx context.Context, uri string) (result.Sample, error) {
		if err := peer.Have("fio"); err != nil {
			return result.Sample{}, err
		}
		j.URI = uri
		return fio.Run(ctx, j)
	}
}

// over goes over a disk twice, or over the first span bytes of it: memory is dear at its first touch.
func over(span uint64) client {
	return func(ctx context.Context, uri string) (s result.Sample, err error) {
		for _, mode := range []string{"write", "read"} {
			j := fio.Job{Load: result.Load{Mode: mode, Block: 1 << 20, Depth: 4}, Span: span}
			if s, err = run(j)(ctx, uri); err != nil {
				return s, err
			}
		}
		return s, nil
	}
}

// nothing is what needs no preparation.
func nothing(context.Context, string) (result.Sample, error) { return result.Sample{}, nil }
