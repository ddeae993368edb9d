package controltest

import (
	"context"
	"time"

	"minisrp/cmd/control"
	"minisrp/cmd/srpd/nbd"
)

// Source answers with what it holds, or with Err.
type Source struct {
	D   control.Daemon
	T   control.Targets
	U   control.Units
	C   control.Counters
	L   control.Latencies
	N   control.Clients
	H   control.Hosted
	Err error
}

// Daemon implements control.Source.
func (s *Source) Daemon(context.Context) (*control.Daemon, error) { return &s.D, s.Err }

// Targets implements control.Source.
func (s *Source) Targets(context.Context) (*control.Targets, error) { return &s.T, s.Err }

// Units implements control.Source.
func (s *Source) Units(context.Context) (*control.Units, error) { return &s.U, s.Err }

// Counters implements control.Source.
func (s *Source) Counters(context.Context) (*control.Counters, error) { return &s.C, s.Err }

// Latencies implements control.Source.
func (s *Source) Latencies(context.Context) (*control.Latencies, error) { return &s.L, s.Err }

// Clients implements control.Source.
func (s *Source) Clients(context.Context) (*control.Clients, error) { return &s.N, s.Err }

// Hosted implements control.Source.
func (s *Source) Hosted(context.Context) (*control.Hosted, error) { return &s.H, s.Err }

// Full returns a source with an answer of every kind: two targets, one of them away, and two units, one of which is no
// disk.
func Full() *Source {
	return &Source{
		D: control.Daemon{
			Version: control.Version, Program: "srpd v1.2.3", PID: 4711,
			Started: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), StateDir: "/var/lib/minisrp",
			Listen: []string{"/run/minisrp/nbd.sock"},
			Exports: []control.Export{
				{Name: "disk0", Unit: "naa.6000000000000001", URIs: []string{"nbd+unix:///disk0?socket=/run/minisrp/nbd.sock"}},
			},
		},
		T: control.Targets{Version: control.Version, Targets: []control.Target{
			{
				Name: "embedded", Adapter: "soft0", Address: "192.0.2.2:5555",
				TargetID: "0x00000000000000030000000000000004", Initiator: "0x00000000000000010000000000000002",
				String: "id_ext=0000000000000003,ioc_guid=0000000000000004,dest=192.0.2.2:5555",
				Origin: "embedded", State: "up", Logins: 2,
				Session: &control.Session{
					Channels: 1, QueueSize: 64, Credits: 128, MaxITIU: 8276, MaxTIIU: 128, ImmediateData: 8192,
					Formats: "direct+indirect", MaxSegments: 12, MaxTransfer: 1 << 20, Protect: "io: a memory window for each command",
				},
				Channels: []control.Channel{{
					Processor: "srp0", State: "up", QPN: 17, Depth: 62, Outstanding: 1,
					Credits:  control.Credits{Limit: 128, InUse: 1, Least: 66},
					Commands: 1000, Responses: 999, BytesIn: 1 << 30, BytesOut: 5 << 20, Immediate: 4096,
				}},
			},
			{
				Name: "far", Adapter: "soft0", Address: "192.0.2.9:5555", Origin: "control", State: "connecting", Lost: true,
				LastError: "no route to the address", Channels: []control.Channel{},
			},
		}},
		U: control.Units{Version: control.Version, Units: []control.Unit{
			{
				Identity: "naa.6000000000000001", Name: "disk0", Vendor: "MINISRP", Product: "file disk", Revision: "1",
				Disk: &control.Disk{
					Serial: "0123456789abcdef", Size: 8 << 30, LogicalBlock: 512, PhysicalBlock: 4096, MaxTransfer: 1 << 20,
					Thin: true, Unmap: true, FUA: true, WriteCache: "write back",
				},
				Paths:   []control.Path{path("0")},
				Exports: []string{"disk0", "naa.6000000000000001"},
			},
			{
				Identity: "naa.6000000000000002", Vendor: "MINISRP", Product: "odd", Revision: "1",
				Error: "disk has a capacity of 0", Paths: []control.Path{path("1")},
				Exports: []string{},
			},
		}},
		C: control.Counters{
			Version: control.Version,
			NBD: nbd.Stats{
				Exports: []nbd.ExportStats{{
					Name: "disk0", Info: nbd.Info{Size: 8 << 30, LogicalBlock: 512, PhysicalBlock: 4096, CanFUA: true},
					Connections: 1, Accepted: 3, Reads: 10, Writes: 20, Flushes: 3, BytesRead: 40960, BytesWritten: 81920,
					Replies: 33, Batches: 30,
				}},
				Connections: 1, Accepted: 3, Memory: 8 << 20, MemoryMax: 512 << 20,
			},
			Disks: []control.DiskStats{{
				Name: "disk0", Read: control.OpStats{Ops: 10, Bytes: 40960}, Write: control.OpStats{Ops: 20, Bytes: 81920},
				Flush: control.OpStats{Ops: 3}, Commands: 35, Completed: 35, NotGood: map[string]uint64{"attention": 2},
			}},
			Units: []control.UnitStats{{Name: "disk0", Completed: 40, Depth: 62}},
			Totals: []control.UnitTotals{{
				Name: "disk0", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Reads: 110, Writes: 220, Flushes: 33,
				BytesRead: 450560, BytesWritten: 901120,
			}},
			Processors: []control.Processor{{Name: "srpd0", Items: 100, Drains: 90}},
			Capture:    &control.Capture{File: "/tmp/srp.pcapng", Messages: 4000, Dropped: 1},
			HCAs:       []control.HCA{{Name: "soft0", Kind: "software", Port: 1, Error: "not counted"}},
		},
		L: control.Latencies{Version: control.Version, Disks: []control.DiskLatency{{
			Name: "disk0", Identity: "naa.6000000000000001",
			Read: control.Latency{
				Count: 3, Mean: 110, P50: 100, P90: 128, P99: 128, P999: 128, Max: 128,
				Buckets: []control.Bucket{{Most: 100, Count: 2}, {Most: 128, Count: 1}},
			},
			Write: control.Latency{Buckets: []control.Bucket{}},
			Flush: control.Latency{Buckets: []control.Bucket{}},
			Other: control.Latency{Buckets: []control.Bucket{}},
		}}},
		N: control.Clients{Version: control.Version, Clients: []control.NBDClient{
			{Export: "disk0", Client: "unix:pid=99,uid=1000", UID: 1000, PID: 99, Requests: 33, InFlight: 2},
			{Export: "disk0", Client: `192.0.2.77,tls="backup"`, UID: -1, Address: "192.0.2.77", TLS: true, Name: "backup"},
		}},
		H: control.Hosted{Version: control.Version, Targets: []control.HostedTarget{Hosted()}},
	}
}

func path(lun string) control.Path {
	return control.Path{
		Target: "embedded", TargetID: "0x00000000000000030000000000000004", Initiator: "0x00000000000000010000000000000002",
		LUN: lun, State: "up",
	}
}

// Hosted returns a target in the process, with an initiator and a fault.
func Hosted() control.HostedTarget {
	return control.HostedTarget{
		Name: "embedded", TargetID: "0x00000000000000030000000000000004",
		String: "id_ext=0000000000000003,ioc_guid=0000000000000004,dest=192.0.2.2:5555",
		Faults: []control.Fault{{Rule: "delay=50ms,op=read", Hits: 7}},
		Sessions: []control.HostedSession{{
			Initiator: "0x00000000000000010000000000000002", LUNs: []int{0, 1},
			Channels: []control.HostedChannel{{
				ID: 1, Peer: "192.0.2.1:0", Age: 12.5, Credits: 128, Outstanding: 1, MaxIU: 8276, ImmediateData: true,
				Commands: 1000, Tasks: 1, Responses: 1000, BytesIn: 1 << 30, BytesOut: 5 << 20, Faults: 7,
			}},
		}},
	}
}
