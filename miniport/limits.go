package miniport

import "time"

const (
	// DefaultTimeout is an SRB's deadline when it names none (StorPort's class
	// drivers use 60 s, Linux disks 30 s).
	DefaultTimeout = 30 * time.Second

	// DefaultDepth is how many SRBs of a unit are at the adapter at a time: ib_srp's
	// max_cmd_per_lun.
	DefaultDepth = 62

	// tick is the resolution of SRB deadlines: they end up to one tick late.
	tick = 100 * time.Millisecond
	// wheelSlots covers 51 s in one turn; longer deadlines take more turns.
	wheelSlots = 512

	// busyPause and busyRetries are what a unit's BUSY costs: 20 times 250 ms, as
	// StorPort's BusyPauseTime and BusyRetryCount.
	busyPause   = 250 * time.Millisecond
	busyRetries = 20

	// queueFullPart: after QUEUE FULL a unit waits until a quarter of what is at the
	// adapter has completed (StorPort's QueueFullWaitIoPercentage).
	queueFullPart = 4

	// reconnectFirst is how long after a failed login the next is tried; the time doubles
	// up to reconnectMost, which is ib_srp's reconnect_delay.
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 10 * time.Second
	// lossTimeout is how long I/O is held for a target that is away.
	lossTimeout = 60 * time.Second

	// The steps of the ladder, each with its own deadline.
	abortTimeout       = 5 * time.Second
	unitResetTimeout   = 10 * time.Second
	targetResetTimeout = 15 * time.Second
	busResetTimeout    = 20 * time.Second
	// drainTimeout is how long what has been reset may take to come back: keys are
	// invalidated, queues flushed.
	drainTimeout = 5 * time.Second
	// abortGrace is what an SRB has to end by itself after its abort has failed.
	abortGrace = tick

	// reportsKept is how many reports of recovery an executor keeps until they are logged;
	// reportsAPeriod of them are, within reportPeriod, and the others counted. A target that
	// hangs ends all of a queue in one moment.
	reportsKept    = 64
	reportsAPeriod = 16
	reportPeriod   = 10 * time.Second

	// scanPause is the least time between scans that events ask for.
	scanPause = time.Second

	// probeMemory is the port's own registered memory for scans, in bytes.
	probeMemory = 64 << 10
	// firstLUNList is how much of a target's list of units is asked for at first, in
	// bytes: 8 and 8 a unit; maxLUNList the most, 131071 units.
	firstLUNList = 32 << 10
	maxLUNList   = 1 << 20
)
