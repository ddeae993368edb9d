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

// addNBD adds the export of a ram unit over a unix socket, beside others' servers.
func (s *Suite) addNBD() {
	const k4, k128, m1 = 4 << 10, 128 << 10, 1 << 20
	our, kits := peer.Srpd.Name, []string{peer.Nbdkit.Name, peer.NbdkitSingle.Name}

	read := s.nbd("nbd-read-4k-32", fio.Job{Mode: "randread", Block: k4, Depth: 32},
		peer.Srpd, peer.Nbdkit, peer.NbdkitSingle, peer.Slice, peer.NbdkitNull, peer.QSDFile, peer.QSDNull)
	s.figure(read, "nbd-read", "NBD 4 KiB random read, depth 32", "requests/s / faster nbdkit memory", 1.1, 1.4, ratio(iops, our, kits...))
	s.figure(read, "nbd-read-slice", "same", "requests/s / our server over a byte slice", 0.8, 0.95, ratio(iops, our, peer.Slice.Name))
	s.lower(read, "nbd-read-cpu", "same", "server CPU a request / nbdkit memory", 1.2, 0.8, ratio(serverCPU, our, peer.Nbdkit.Name))
	for _, k := range []peer.Kind{peer.NbdkitNull, peer.QSDFile, peer.QSDNull} {
		s.figure(read, "nbd-read-"+slug(k.Name), "same", "requests/s / "+k.Name, 0, 0, ratio(iops, our, k.Name))
	}

	write := s.nbd("nbd-write-4k-32", fio.Job{Mode: "randwrite", Block: k4, Depth: 32},
		peer.Srpd, peer.Nbdkit, peer.NbdkitSingle, peer.Slice)
	s.figure(write, "nbd-write", "NBD 4 KiB random write, depth 32", "requests/s / faster nbdkit memory", 0.8, 1.2, ratio(iops, our, kits...))
	s.figure(write, "nbd-write-slice", "same", "requests/s / our server over a byte slice", 0.8, 0.95, ratio(iops, our, peer.Slice.Name))
	s.lower(write, "nbd-write-cpu", "same", "server CPU a request / nbdkit memory", 1.2, 0.8, ratio(serverCPU, our, peer.Nbdkit.Name))

	one := s.nbd("nbd-read-4k-1", fio.Job{Mode: "randread", Block: k4, Depth: 1}, peer.Srpd, peer.Nbdkit, peer.NbdkitSingle, peer.Slice)
	s.lower(one, "nbd-read-1", "NBD 4 KiB random read, depth 1", "p50 / nbdkit memory", 1.1, 0.7, ratio(p50, our, peer.Nbdkit.Name))

	for _, size := range []struct {
		bytes       uint32
		name, title string
	}{{k128, "128k", "128 KiB"}, {m1, "1m", "1 MiB"}} {
		for _, op := range []string{"read", "write"} {
			g := s.nbd("nbd-"+op+"-"+size.name+"-8", fio.Job{Mode: "rand" + op, Block: size.bytes, Depth: 8}, peer.Srpd, peer.Nbdkit, peer.Slice)
			s.figure(g, "nbd-"+op+"-"+size.name, "NBD "+size.title+" "+op+", depth 8", "bytes/s / nbdkit memory", 1, 1.3, ratio(bytes, our, peer.Nbdkit.Name))
		}
	}
}

// nbd adds a group of servers under one load, and returns its name.
func (s *Suite) nbd(name string, j fio.Job, kinds ...peer.Kind) string {
	j.Duration = s.cfg.Duration
	g := rounds.Group{Name: name, Title: fmt.Sprintf("NBD %s, %d KiB, depth %d", j.Mode, j.Block>>10, j.Depth), Client: j.String()}
	for _, k := range kinds {
		s.kinds[k.Name] = k
		g.Contestants = append(g.Contestants, rounds.Contestant{Name: k.Name, Measure: func(ctx context.Context) (result.Sample, error) {
			return s.load(ctx, k, j)
		}})
	}
	s.groups = append(s.groups, g)
	return name
}

// load has fio load a server.
func (s *Suite) load(ctx context.Context, k peer.Kind, j fio.Job) (result.Sample, error) {
	if err := peer.Have("fio"); err != nil {
		return result.Sample{}, err
	}
	server, err := s.warm(ctx, k)
	if err != nil {
		return result.Sample{}, err
	}
	j.URI = server.URI
	before, err := host.CPU(server.PID)
	if err != nil {
		return result.Sample{}, err
	}
	sample, err := fio.Run(ctx, j)
	if err != nil {
		return sample, err
	}
	after, err := host.CPU(server.PID)
	if err != nil {
		return sample, err
	}
	sample.ServerCPU = float64((after - before).Nanoseconds()) / float64(time.Microsecond) / float64(sample.IOs)
	sample.Resident, err = host.Memory(server.PID)
	return sample, err
}

// warm returns a server whose whole disk was touched, by it and by the machine.
func (s *Suite) warm(ctx context.Context, k peer.Kind) (*peer.Server, error) {
	server, err := s.cfg.Pool.Get(ctx, k)
	if err != nil || server.Warm {
		return server, err
	}
	for _, mode := range []string{"write", "read"} {
		if _, err := fio.Run(ctx, fio.Job{URI: server.URI, Mode: mode, Block: 1 << 20, Depth: 4}); err != nil {
			return nil, fmt.Errorf("going over the disk: %w", err)
		}
	}
	server.Warm = true
	return server, nil
}
