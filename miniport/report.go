package miniport

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// reporter logs what recovery does. Recovery runs at Dispatch, where nothing is logged: each executor leaves reports in
// a ring of its own, and the reporter's goroutine takes them out.
//
// Ownership: the port's. startReporter starts the goroutine, close ends it and waits.
type reporter struct {
	port   *Port
	worker *dispatch.Worker
	work   dispatch.Work

	// The worker's.
	begun      time.Time // of the period in which lines are counted
	lines      int
	suppressed uint64
}

// report is one line to be.
type report struct {
	step   step // stepIdle: a command's deadline has passed, and it is aborted
	failed bool // no step is left
	unit   *Unit

	// Of a command.
	target  *Target
	lun     scsi.LUN
	tag     uint64
	cdb     scsi.CDB
	length  uint8
	timeout time.Duration
}

// reports is the ring of an executor.
//
// Ownership: put is the processor's, take the reporter's.
type reports struct {
	ring   [reportsKept]report
	in     atomic.Uint32 // counts what was put
	out    atomic.Uint32 // counts what was taken; a stale value makes the ring look fuller than it is
	missed atomic.Uint64 // for which there was no room
}

func startReporter(p *Port) *reporter {
	r := &reporter{port: p, worker: dispatch.NewWorker(1)}
	r.work.Init(r.run)
	return r
}

// close logs what is left.
//
//level:passive
func (r *reporter) close() {
	r.worker.Queue(&r.work)
	r.worker.Close()
	r.tellSuppressed()
}

// put leaves a report, or counts it where there is no room.
func (q *reports) put(of *report) {
	if q.in.Load()-q.out.Load() == reportsKept {
		q.missed.Add(1)
		return
	}
	q.ring[q.in.Load()%reportsKept] = *of
	q.in.Add(1)
}

func (q *reports) take() (of report, ok bool) {
	if q.in.Load() == q.out.Load() {
		return of, false
	}
	of = q.ring[q.out.Load()%reportsKept]
	q.out.Add(1)
	return of, true
}

// report has a report logged. Level: Dispatch, on the executor's processor.
func (e *executor) report(of *report) {
	e.reports.put(of)
	e.port.reporter.worker.Queue(&e.port.reporter.work)
}

// reportDeadline tells that an SRB is to be aborted.
func (e *executor) reportDeadline(s *SRB) {
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	e.report(&report{
		unit: s.unit, target: s.path.target, lun: s.path.lun, tag: s.ext.request.Tag(),
		cdb: s.CDB, length: s.CDBLength, timeout: timeout,
	})
}

// run logs what the executors have left.
func (r *reporter) run(ctx context.Context) {
	for _, e := range r.port.execs {
		for of, ok := e.reports.take(); ok; of, ok = e.reports.take() {
			r.tell(&of)
		}
		r.suppressed += e.reports.missed.Swap(0)
	}
}

// tell logs a report, unless there were enough of them of late.
func (r *reporter) tell(of *report) {
	if now := time.Now(); now.Sub(r.begun) >= reportPeriod {
		r.tellSuppressed()
		r.begun, r.lines = now, 0
	}
	if r.lines++; r.lines > reportsAPeriod {
		r.suppressed++
		return
	}
	log := r.port.log.With("unit", string(of.unit.id))
	switch {
	case of.failed:
		log.Error("recovery has failed: the unit is given up until its target is logged in to again")
	case of.step != stepIdle:
		log.Warn("recovery: " + of.step.String())
	default:
		cdb := of.cdb[:min(int(of.length), len(of.cdb))]
		log.Warn("command has timed out and is aborted", "target", of.target.Name(), "lun", of.lun,
			"tag", fmt.Sprintf("%#x", of.tag), "command", scsi.CommandName(cdb), "cdb", hex.EncodeToString(cdb), "timeout", of.timeout)
	}
}

func (r *reporter) tellSuppressed() {
	if r.suppressed > 0 {
		r.port.log.Warn("more of recovery that was not logged", "lines", r.suppressed)
		r.suppressed = 0
	}
}
