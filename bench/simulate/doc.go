// Package simulate runs the path's deferred calls on 1 to 8 processors that there need not be: a simulation of events,
// with what each costs taken from measurements on the processors that there are. It must not be quoted as measured.
//
// # What is simulated
//
// Each channel has a processor, its one executor, and a submitter there that keeps so many requests at its unit, each
// started from the completion of one before. A request goes through two DPCs, as counted on the loopback fabric: the
// target's queue, which takes the command, moves the data and responds, and the initiator's, which takes the response,
// invalidates the key, completes the request and starts the next. A DPC takes all that waits for it, up to what the engines'
// budgets allow, and costs the same whatever it finds (PerDPC) and as much again for each request (PerRequest). A unit
// may be on another channel's processor: its requests then go there and back through queues that many push to
// (HandOver), and wake a processor that is idle (Wake). A line of memory that all processors write to, such as the
// counter of a unit's gate, is at one of them at a time, and moves in Line.
//
// # What it can tell, and what it cannot
//
// That DPCs a request fall with depth as they do on the real path, on one processor, is tested. From there it tells what
// structure costs: crossings, lines that are shared, a unit that all want. It does not know the bandwidth of memory, the
// caches, two threads on a core, the scheduler of Go or of the system: real processors scale worse by those, and
// never better than this. A curve without crossings and shared lines is a straight line by construction.
//
// # Testing
//
//	go test -v ./bench/simulate
package simulate
