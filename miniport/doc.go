// Package miniport is the port driver and the SRP miniport beneath it: it takes SCSI
// requests for logical units, queues them, and issues them as SRP commands from entry
// points that run at Dispatch. It must not know what the requests are for.
//
// The split is StorPort's. The port driver owns units, queues, depth, pauses,
// deadlines and recovery; a Miniport owns an adapter and is called at its entry
// points. The SRP miniport calls verbs from them directly.
//
//	Unit.Submit → lane: gates, depth → Miniport.BuildIO → Miniport.StartIO
//	                                                          … the channel …
//	SRB.Done ← lane: retries ← Adapter.Complete ← the channel's completion
//
// # Levels
//
// From Submit to Done everything is Dispatch and allocates nothing. Finding adapters,
// scanning, registering memory, logging in and closing are Passive.
//
// # Ownership
//
// A unit has one lane for each processor; a lane, and what it has started, belongs to
// the frame that owns the processor. A request that comes on another frame goes
// through the lane's lock-free queue. What lanes share of a unit's depth are its gates:
// a lane that is told no is woken by whoever opens a gate or gives back a place, and
// lanes take turns. Lanes that wait for room in a channel do so in one list.
//
// A target has a keeper goroutine, started by AddTarget and ended by RemoveTarget, that
// logs in and out; the channels it makes are published in atomics. An SRP adapter has two
// workers, for scans that events ask for and for bus resets; the port has one that logs
// what recovery does. An SRB is the submitter's, the port's from Submit to Done. A Token
// is the miniport's until it is fired.
//
// # State machine
//
// An SRB:
//
//	idle      Submit                       queued, or started
//	queued    gates open, StartIO Pending  started
//	queued    StartIO Refused              idle
//	queued    unit stopping, lost, failed  idle (flushed, no device)
//	started   Complete                     idle; queued again after BUSY, QUEUE FULL
//	started   deadline                     aborting (ABORT TASK)
//	aborting  Complete                     idle
//	aborting  abort failed, or deadline    reset (the unit's ladder)
//	reset     Complete                     idle
//
// A unit's ladder: idle → unit reset → target reset → bus reset → failed, each with a
// deadline, and back to idle when what was started has completed; see ladder. An SRB
// completes exactly once, and only when remote access to its data has become impossible:
// its response has come and its keys are invalid, or its channel has been flushed. A unit
// reset goes out on each channel that has commands of the unit, since it counts only for
// those that went before it on the same one.
//
// A target: see Target. While one is away the requests of its units are held, unless
// another path leads to them; after lossTimeout they complete with StatusNoDevice, and
// the logins go on.
//
// # Errors
//
// SRB.Status says what is known of the command's effect. ErrNoUnit, ErrDuplicate,
// ErrSuspended, ErrClosed and srp's login errors come from the Passive calls.
//
// # Testing
//
// The gates are run in every order by a scheduler of the tests' own. The port is tested
// against a scripted miniport on manual processors, and, for the race detector, against
// one that completes at random; the SRP miniport against package target.
//
// # Clauses
//
// StorPort: HwStorFindAdapter, HwStorInitialize, HwStorBuildIo, HwStorStartIo,
// HwStorResetBus, HwStorAdapterControl, HwStorUnitControl, HwStorFreeAdapterResources;
// SAM-5 5 (statuses), 7 (task management); SPC-5 6.33 (REPORT LUNS), 7.8.6 (page 83h).
package miniport
