// Package load makes load: it keeps requests at units of a port driver, as a description of a job says, and tells how
// long they took and whether what was read is what had been written. The descriptions are fio's, for what of them is
// supported; a file of them is read by ParseFile. It must not know how the units are reached.
//
//	job file ─► Job ─► Run ─► worker (one for each of numjobs) ─► Unit.Submit … SRB.Done ─► histograms ─► Report
//
// # Levels
//
// Parsing, Run and what reports are made of is Passive. A worker lives at Dispatch on its processor: it starts a request
// from the completion of one before, allocates nothing, and reads the clock once a batch (Frame.Now), so that a latency
// is exact to the length of a batch.
//
// # Ownership
//
// Run makes the workers and their memory, and has given everything back when it returns. What a worker has belongs to
// the frame that owns its processor until then.
//
// # Verification
//
// With verify=crc32c each interval of a written block begins with where it belongs, which write it was, and a checksum.
// The worker knows which write each interval has seen last, and starts no two requests at a time that overlap, unless both
// read. So it finds blocks that are damaged, in another's place, or older than they should be; on each read, and at the
// end on reading all that was written. With verify=pattern the blocks have a pattern and nothing else.
//
// # Differences from fio
//
// A random job goes through all places of its region in a random order before it comes to one a second time
// (norandommap=1: it chooses freely). thinktime counts from a completion. The clones that numjobs makes are reported as
// one. verify_pattern may be given for crc32c too. Options that are not supported are refused, not ignored.
//
// # Errors
//
// *OptionError for a bad option, with file, line, value and what would be right. Requests that failed, and what
// verification found, are in the Report.
package load
