package suite

import (
	"context"
	"fmt"
	"time"

	"minisrp/bench/fio"
	"minisrp/bench/iscsi"
	"minisrp/bench/peer"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
)

// addNBD adds the export of a ram unit over a unix socket, beside others' servers.
func (s *Suite) addNBD() {
	const k4, k128, m1 = 4 << 10, 128 << 10, 1 << 20
	our, kits := peer.Srpd.Name, []string{peer.Nbdkit.Name, peer.NbdkitSingle.Name}

	deep := result.Load{Mode: "randread", Block: k4, Depth: 32}
	read := s.nbd("nbd-read-4k-32", deep, peer.Srpd, peer.Nbdkit, peer.NbdkitSingle, peer.Slice, peer.NbdkitNull, peer.QSDFile, peer.QSDNull)
	const readTitle, writeTitle = "NBD 4 KiB random read, depth 32", "NBD 4 KiB random write, depth 32"
	s.figure(read, "nbd-read", readTitle, "requests/s / faster nbdkit memory", 1.1, 1.4, ratio(iops, our, kits...))
	s.figure(read, "nbd-read-slice", readTitle, "requests/s / our server over a byte slice", 0.8, 0.95, ratio(iops, our, peer.Slice.Name))
	s.lower(read, "nbd-read-cpu", readTitle, "server CPU a request / nbdkit memory", 1.2, 0.8, ratio(serverCPU, our, peer.Nbdkit.Name))
	s.addISCSI(read, deep)
	for _, k := range []peer.Kind{peer.NbdkitNull, peer.QSDFile, peer.QSDNull, peer.TGT} {
		s.figure(read, "nbd-read-"+slug(k.Name), readTitle, "requests/s / "+k.Name, 0, 0, ratio(iops, our, k.Name))
	}

	write := s.nbd("nbd-write-4k-32", result.Load{Mode: "randwrite", Block: k4, Depth: 32},
		peer.Srpd, peer.Nbdkit, peer.NbdkitSingle, peer.Slice)
	s.figure(write, "nbd-write", writeTitle, "requests/s / faster nbdkit memory", 0.8, 1.2, ratio(iops, our, kits...))
	s.figure(write, "nbd-write-slice", writeTitle, "requests/s / our server over a byte slice", 0.8, 0.95, ratio(iops, our, peer.Slice.Name))
	s.lower(write, "nbd-write-cpu", writeTitle, "server CPU a request / nbdkit memory", 1.2, 0.8, ratio(serverCPU, our, peer.Nbdkit.Name))

	one := s.nbd("nbd-read-4k-1", result.Load{Mode: "randread", Block: k4, Depth: 1}, peer.Srpd, peer.Nbdkit, peer.NbdkitSingle, peer.Slice)
	s.lower(one, "nbd-read-1", "NBD 4 KiB random read, depth 1", "p50 / nbdkit memory", 1.1, 0.7, ratio(p50, our, peer.Nbdkit.Name))

	for _, size := range []struct {
		bytes       uint32
		name, title string
	}{{k128, "128k", "128 KiB"}, {m1, "1m", "1 MiB"}} {
		for _, op := range []string{"read", "write"} {
			g := s.nbd("nbd-"+op+"-"+size.name+"-8", result.Load{Mode: "rand" + op, Block: size.bytes, Depth: 8}, peer.Srpd, peer.Nbdkit, peer.Slice)
			s.figure(g, "nbd-"+op+"-"+size.name, "NBD "+size.title+" "+op+", depth 8", "bytes/s / nbdkit memory", 1, 1.3, ratio(throughput, our, peer.Nbdkit.Name))
		}
	}
}

// nbd adds a group of servers under one load, and returns its name.
func (s *Suite) nbd(name string, load result.Load, kinds ...peer.Kind) string {
	j := fio.Job{Load: load, Duration: s.cfg.Duration}
	g := rounds.Group{Name: name, Title: fmt.Sprintf("NBD %s, %d KiB, depth %d", load.Mode, load.Block>>10, load.Depth), Client: j.String(), Load: load}
	for _, k := range kinds {
		prepare := over(0)
		if k.Nowhere {
			prepare = nothing
		}
		g.Contestants = append(g.Contestants, s.contestant(k, prepare, run(j)))
	}
	s.groups = append(s.groups, g)
	return name
}

// addISCSI adds tgt to a group: another protocol, and another client, under the same load.
func (s *Suite) addISCSI(group string, load result.Load) {
	j := iscsi.Job{Block: load.Block, Depth: load.Depth, Duration: s.cfg.Duration}
	perf := func(ctx context.Context, uri string) (result.Sample, error) {
		if err := peer.Have("iscsi-perf"); err != nil {
			return result.Sample{}, err
		}
		j.URI = uri
		return iscsi.Run(ctx, j)
	}
	for i := range s.groups {
		if g := &s.groups[i]; g.Name == group {
			g.Contestants = append(g.Contestants, s.contestant(peer.TGT, nothing, perf))
			g.Client += "\n" + j.String()
		}
	}
}

// addDepths adds what a plot of requests a second against the depth lacks between the groups that are there.
func (s *Suite) addDepths() {
	for _, depth := range []int{2, 4, 8, 16, 64} {
		name := fmt.Sprintf("nbd-read-4k-%d", depth)
		s.nbd(name, result.Load{Mode: "randread", Block: 4 << 10, Depth: depth}, peer.Srpd, peer.Nbdkit, peer.NbdkitSingle, peer.Slice)
		g := &s.groups[len(s.groups)-1]
		if g.Rounds = 3; s.cfg.Duration < time.Second {
			g.Rounds = 1 // it is to be quick
		}
	}
}
