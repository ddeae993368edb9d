// Package lun is the device server: logical units on stores, and what a SCSI target port needs to serve them. It must
// not know how commands and data reach it.
//
// A task goes through these steps; a target does what stands on the left.
//
//	fill in Task                                                  Dispatch
//	Server.Prepare ──► Finished: status, perhaps sense ─┐         Dispatch
//	       ├─────────► Blocked: wait for Owner.TaskReady │
//	       ▼ Proceed                                     │
//	fetch Task.Out bytes, or have room for Task.In       │
//	       ▼                                             │
//	Server.Execute ──► Pending ─► store's worker         │        Dispatch ► Passive
//	       │              └─► Owner.TaskDone ──┐         │        Dispatch
//	       ▼ Done                              ▼         ▼
//	send Task.In bytes, then status and sense
//	       ▼
//	Server.Release                                                Dispatch
//
// A task may be aborted anywhere on this way (Server.Manage, Server.Abort). It goes on to Release all the same, and the
// task management function is answered after that: so nothing that was aborted moves a byte once the answer is there.
//
// # Memory
//
// Where a store's blocks are memory (Mapped: null and ram), the target registers that memory and moves data between
// it and the fabric itself, without a copy: Task.Mapped and Task.Window say where. Such reads and writes are Done at
// Dispatch. Data that the target has already, such as immediate data, it hands over in Task.Data, and Execute copies.
//
// For other stores, and for everything but READ and WRITE, the target offers memory in Task.Data: pieces of any size,
// but the first of MinBuffer or as much as is moved. No task moves more than MaxTransfer, which the Block Limits page
// says, so a target that owns MaxTransfer of pieces can always go on; with less than a task wants it lets the
// task wait.
//
// # Ownership
//
// A Server, its units and its tasks belong to one processor. What has a frame runs there, and nothing else touches a
// task set; other goroutines change only what units are shown (Attach, Detach) and their capacity, by replacing
// values that are never changed.
//
// A unit owns its store, and a dispatch.Worker whose goroutines, Config.Workers of them, are the only ones of this
// package. NewUnit starts them and Unit.Close waits for them. FLUSH covers what was acknowledged before it arrived: a
// write is acknowledged after the store's Write has returned, and a flush begins after it has arrived.
//
// # Levels
//
// Prepare, Execute, Release, Manage and Abort are Dispatch, and allocate nothing. Stores are Passive. NewUnit, Attach,
// Detach, Close and the makers of stores are Passive.
//
// # State machine
//
// The states of a task stand at taskState, in task.go. Which tasks may run at the same time is said by SAM-5: ORDERED
// tasks wait for all older ones, SIMPLE ones for older ORDERED ones, HEAD OF QUEUE ones for nothing. There is one task
// set a unit (TST 0); tasks that another nexus aborts end with TASK ABORTED, or without a word where TAS is 0.
//
// COMPARE AND WRITE and ORWRITE are uninterrupted (SBC-4 4.25): such a task waits until no other that touches one of its
// blocks is under way, and holds back those that come later. READ and WRITE look for such tasks only while there are any.
//
// A unit is ready or stopped (START STOP UNIT), and has for each target port group an asymmetric access state; both hold
// until they are set again, and a logical unit reset starts the unit. What works in which state stands at each command,
// in commands.go. Mode parameters are those of all initiators.
//
// # Reservations
//
// A unit keeps one state of reservations for the initiators of all servers that show it, by initiator port and relative
// target port; Nexus.Initiator names the former. What APTPL asks to outlive a loss of power goes to the store, if that
// is a Keeper, before the command is answered, and NewUnit takes it up again. ALL_TG_PT makes one registration that
// counts at every target port, and goes as one.
//
// REPLACE LOST RESERVATION is refused, and RLR_C in REPORT CAPABILITIES says so. It is for units that go on although they
// know that they have lost registrations, and end commands with PERSISTENT RESERVATION INFORMATION LOST until it comes
// (SPC-5 5.14.11). This one never does: nothing is lost while it runs, and if what was kept cannot be read,
// NewUnit fails.
//
// # Errors
//
// Initiators get status and sense; senseOf, in work.go, translates the errors of stores. Constructors return the
// sentinels in errors.go.
//
// # Testing
//
// Package scsi/luntest has layers that make stores slow, failing, stopped, or counted. The tests here drive a server
// on a manual processor, read back what was written, compare INQUIRY data with sg3_utils, look at files' holes with
// the system's own calls, and run task sets against a model.
//
// # Clauses
//
// SAM-5 4.7 (LUNs), 5.14 (unit attention), 7 (task management), 8 (task sets); SPC-5 5.16 (asymmetric access), 6 and 7
// (INQUIRY, VPD, MODE SENSE and SELECT, LOG SENSE and SELECT, REPORT LUNS, REQUEST SENSE, REPORT and SET TARGET PORT
// GROUPS, REPORT SUPPORTED OPERATION CODES and TASK MANAGEMENT FUNCTIONS); SBC-4 4.27, 5 and 6 (READ, WRITE, VERIFY, WRITE
// AND VERIFY, COMPARE AND WRITE, ORWRITE, PRE-FETCH, SYNCHRONIZE CACHE, UNMAP, WRITE SAME, GET LBA STATUS, START STOP UNIT,
// READ CAPACITY, block VPD, mode and log pages).
//
// Where the standards leave a choice:
//
//   - SYNCHRONIZE CACHE and START STOP UNIT with IMMED answer when they are done.
//   - A WRITE with less data than its CDB says is refused as a whole.
//   - READ with FUA flushes before it reads.
//   - WRITE SAME of 0 blocks is refused (WSNZ).
//   - Informational exceptions are told by unit attention or on request only (MRIE 2 and 6).
//   - A logical unit reset brings back the mode parameters that were saved, and leaves a write cache on.
//   - In standby state READ CAPACITY and the reports of commands and functions work too.
//   - Third-party copies and security protocols are unknown commands, and no page says otherwise.
//   - READ(32) and WRITE(32), which SBC-4 4.21.2.2 keeps for units with protection information, are carried out too.
package lun
