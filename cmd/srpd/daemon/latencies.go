package daemon

import (
	"context"
	"time"

	"minisrp/cmd/control"
	"minisrp/scsi/disk"
)

// Latencies implements control.Source.
func (s *status) Latencies(context.Context) (*control.Latencies, error) {
	a := &control.Latencies{Version: control.Version, Disks: []control.DiskLatency{}}
	for _, u := range s.d.list() {
		if u.disk == nil {
			continue
		}
		l := u.disk.Latencies()
		a.Disks = append(a.Disks, control.DiskLatency{
			Name: u.name, Identity: string(u.unit.ID()),
			Read: latency(&l.Read), Write: latency(&l.Write), Flush: latency(&l.Flush), Other: latency(&l.Other),
		})
	}
	return a, nil
}

func latency(l *disk.Latency) control.Latency {
	a := control.Latency{Buckets: []control.Bucket{}, Max: microseconds(l.Max)}
	for i, n := range l.Buckets {
		if n > 0 {
			a.Count += n // that of the buckets, which are read one after the other
			a.Buckets = append(a.Buckets, control.Bucket{Most: microseconds(disk.LatencyBound(i)), Count: n})
		}
	}
	if l.Count > 0 {
		a.Mean = microseconds(l.Sum) / float64(l.Count)
	}
	for _, p := range []struct {
		part float64
		to   *float64
	}{{.5, &a.P50}, {.9, &a.P90}, {.99, &a.P99}, {.999, &a.P999}} {
		var sum uint64
		for _, b := range a.Buckets {
			if sum += b.Count; float64(sum) >= p.part*float64(a.Count) {
				*p.to = b.Most
				break
			}
		}
	}
	return a
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
