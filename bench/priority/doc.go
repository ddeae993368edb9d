// Package priority measures how soon a processor runs a DPC that a device has asked for, idle and while Passive work
// burns CPU. It must not help: all is as it is in the daemon.
//
// A thread stands for the device. It waits in a system call, as one does that reads a completion channel of rdma-core,
// and then fires a CQ; the time until the CQ's notification runs at Dispatch is what counts.
//
//	thread: read(timer) ─► now ─► CQ.FireFromThread      processor: DPC ─► now
//	                       └──────────── latency ────────────────────────────┘
//
// Idle and loaded turns alternate in one run, so that what else the machine does meets both.
//
// # Testing
//
//	make bench BENCH=Priority
package priority
