// Package disk is the disk class driver: it turns reads, writes, flushes, unmaps and zeroing of byte ranges, and
// questions about what is kept of them, into SCSI tasks on a unit of the port driver. It must not know how the unit is reached.
//
//	Open: identify                                            Passive
//	Submit → lane: check, queue, split → CDB → Unit.Submit    Dispatch
//	                                               …
//	Done ← join ← retries by status and sense ← SRB.Done      Dispatch
//	events ← look again at the unit ← notes of the sense      Passive
//
// # Ownership
//
// A Request is its owner's but from Submit to Done. A disk has one lane for each processor of the port; a lane and
// the requests submitted on its processor belong to the frame that owns the processor, and complete there. Requests
// that come on other frames go through a lock-free queue to a lane of the port. A lane has slots, each an SRB with its
// memory: one of its own, and those that it takes from a Stock, which disks may share; what finds none free waits in the
// lane, first in, first out, and the lanes that wait get slots in turn. One goroutine, the
// worker's, started by Open and ended by Close, looks at the unit again and tells the events.
//
// # Levels
//
// Submit, and what leads from an SRB's end to Done, are Dispatch and allocate nothing, also when they fail. Open and
// Close are Passive. The rest computes.
//
// # State machine
//
// A slot:
//
//	free      a request's next part          building
//	building  there is a command for it      at the unit
//	building  nothing to send                ended
//	at unit   GOOD, blocks left              building (the next command of an unmap or zeroing)
//	at unit   GOOD                           ended
//	at unit   retry, by class                building, or waiting while the lane pauses
//	at unit   form refused                   building, in another form
//	at unit   error, or retries used up      ended, the request has its error
//	waiting   pause over                     building
//	waiting   Close                          ended
//	ended     last of a write to be durable  building (a flush)
//	ended     last of the request            free, Done is called
//	ended     otherwise                      free
//
// # What is tried again
//
// Every command may be executed twice with the same result, so one of unknown effect is sent again: after a unit
// attention, BUSY, TASK SET FULL, TASK ABORTED, ABORTED COMMAND, while the unit is becoming ready, and after the
// port's time-outs and resets. For writes this is safe only because the port completes an SRB when no earlier copy
// of the command can be executed any more: StatusTimeout and StatusBusReset mean that the task is gone at the unit. A
// unit of which that is not true has no business under this package. Numbers and delays are in limits.go. Delays are
// the unit's: the lane sends nothing while one lasts.
//
// Not tried again are RESERVATION CONFLICT, DATA PROTECT, MEDIUM ERROR of reads, HARDWARE ERROR, ILLEGAL REQUEST, and
// what the port says was not executed for lack of a unit.
//
// A unit that refuses UNMAP, WRITE SAME, one of their bits, FUA, or a form of SYNCHRONIZE CACHE is not asked so again:
// zeroing goes from WRITE SAME with UNMAP (only with LBPRZ, so that holes read as zeros) to WRITE SAME and to writing
// zeros; FUA to a flush behind the write; unmapping and prefetching end in doing nothing, since they are hints; and
// a unit that cannot tell its holes (GET LBA STATUS) is said to keep everything.
//
// # Durability
//
// A Flush is SYNCHRONIZE CACHE of the whole unit. It is left out only when the caching page says that there is no
// write cache. It is never answered from memory, and never merged with another.
//
// A flush may fail in two ways. Where the unit did not carry it out, the Flush fails, nothing is given up, and the
// next one is sent again and covers everything. Where the unit says that it could not write what it had acknowledged
// (MEDIUM or HARDWARE ERROR of a flush, or a deferred error at any time), a later SYNCHRONIZE CACHE that ends with
// GOOD proves nothing: what was lost is not in the cache any more. So this Flush and every later one fails with
// ErrLostWrites, whoever asks, until AcceptLoss: a second program on the same disk learns it too.
//
// A unit that loses power with a volatile cache says so by a unit attention that every new login meets as well. It is
// not taken for a loss of writes.
//
// # Errors
//
// The sentinels in errors.go say what the caller should do. A command that failed at the unit is an *Error, which
// unwraps to one and holds the sense data.
//
// # Testing
//
// Package disktest has a unit of RAM with scripts for its failures. Splitting, joining and retries are compared with a
// slice of bytes under random limits, failures and orders; identification also with what a Linux target sent.
//
// # Clauses
//
// SAM-5 5.3 (statuses), 5.14 (unit attention); SPC-5 4.4 (sense data), 6.7 (INQUIRY), 6.13 (MODE SENSE), 6.34 (REPORT
// SUPPORTED OPERATION CODES), 7.7 (VPD); SBC-4 4.7 (provisioning), 5.6 (GET LBA STATUS), 5.13 (PRE-FETCH), 5.15–5.18
// (READ, READ CAPACITY), 5.33 (SYNCHRONIZE CACHE), 5.37 (UNMAP), 5.40–5.43 (WRITE), 5.49 (WRITE SAME), 6.5 and 6.6
// (caching page, block VPD).
package disk
