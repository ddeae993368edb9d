// Package dispatch is the scheduler of the two levels that the whole of minisrp
// lives by. It must not know what the work is that it runs.
//
// # Levels
//
// Passive is an ordinary goroutine: it may block, and takes a context.Context
// first. Dispatch must return at once: it takes a *Frame first, waits for
// nothing, takes no mutex, does no I/O and, on the data path, allocates
// nothing. A function that takes neither computes, and may be called at both.
// Interface methods, function types and functions that block without a context
// say their level in a mark, //level:passive or //level:dispatch, because a
// signature cannot.
//
// # Ownership
//
// A Processor is an object, not a CPU. It has a lock-free queue of DPCs that
// anyone may push to, and one drain flag. Who takes the flag owns the
// processor: it alone runs the processor's DPCs and timers, and touches what is
// serialised by the processor. Who does not get it leaves its item in the queue
// and returns; the owner looks again after it has cleared the flag, so that no
// item is ever without somebody who will run it.
//
// Raise enters Dispatch and tries to take the flag; Lower leaves, and drains on
// the way out. What was started between the two therefore completes on the same
// goroutine without a scheduler hop, but never on the stack of the call that
// started it. A drain that reaches its budget passes the flag to the
// processor's own goroutine, which New starts and Close waits for.
//
// A DPC, a Timer and a Work item belong to whoever embeds them; the package
// keeps a reference only while they are queued or armed. A Worker is the other
// direction: Passive goroutines that run what Dispatch code leaves for them.
//
// # State machine
//
//	flag      event                    flag'     who drains
//	idle      Raise, Lower, wake       held      the goroutine that took it
//	held      Raise, Lower, wake       held      the one that has it
//	held      queue empty at Lower     idle      nobody; re-check, perhaps held again
//	held      budget over, work left   held      passed to the processor's goroutine
//
// # Time
//
// Processors read one clock a batch (Frame.Now). NewManual makes a processor
// without a goroutine whose clock stands still until Advance: for tests.
//
// # The run-time twin
//
// test/levelcheck proves levels of the source. Built with -tags leveltwin, the package asserts them while the program
// runs, and panics with the name of the function: that Passive functions (Raise, Call, Worker, Mutex.Lock, whoever calls
// AssertPassive) are not reached between Raise and Lower, that a frame is used only while it is raised and by the
// goroutine that raised it, that completions of a layer do not nest (Frame.Starting, Frame.Completing), and that each
// Mutex has a higher rank than those that are held. It also measures how long each DPC takes, and which took longest:
// Processor.Times, which srpd logs when it ends, and the chain of test/path with -v. Without the tag all of this is
// empty, and leaves no code behind.
//
// # Testing
//
// The drain flag is checked by running the real code under a scheduler that
// stops it at every shared access and explores the orders (model_test.go).
package dispatch
