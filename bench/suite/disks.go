package suite

import (
	"minisrp/bench/fio"
	"minisrp/bench/peer"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
)

// addDisks adds the stores that last, of which badger is to be as fast as a file.
func (s *Suite) addDisks() {
	const span = 256 << 20 // what is written to: a database that holds all of a disk would take long to make
	load := result.Load{Mode: "randwrite", Block: 4 << 10, Depth: 32, Fsync: 32}
	j := fio.Job{Load: load, Span: min(span, s.cfg.Size), Duration: s.cfg.Duration}
	g := rounds.Group{Name: "disk-write-4k-32", Title: "random write with a flush every 32, 4 KiB, depth 32", Client: j.String(), Load: load}
	for _, k := range []peer.Kind{peer.SrpdBadger, peer.SrpdFile} {
		g.Contestants = append(g.Contestants, s.contestant(k, over(j.Span), run(j)))
	}
	s.groups = append(s.groups, g)
	s.figure(g.Name, "badger-write", "badger unit, 4 KiB random write, depth 32, flush every 32", "requests/s / file unit with fsync", 0.5, 1,
		ratio(iops, peer.SrpdBadger.Name, peer.SrpdFile.Name))
}
