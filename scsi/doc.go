// Package scsi encodes and decodes what SCSI commands and their data look like in bytes: CDBs, parameter
// data, LUNs, status and sense data. It does no I/O, starts no goroutine, reads no clock, and imports
// nothing else of this module.
//
// Both sides use the same types. An initiator fills a command and puts it into a CDB, and parses the data
// that comes back; a device server parses the CDB, and appends the data that it returns.
//
//	initiator                              device server
//	RW{…}.Put(&cdb)         → CDB  →       ParseRW(cdb)
//	ParseCapacity16(data)   ← data ←       Capacity{…}.Append16(buf)
//	ParseSense(sense)       ← sense ←      Sense{…}.Put(buf)
//
// # Ownership
//
// All types are plain values. Functions that read in place (LUNList and the iterators) keep the
// slice they are given, and say so. The Append functions grow their slice as append does, so one with
// enough capacity is never reallocated.
//
// # Levels
//
// Everything here is computing: callable at Passive and at Dispatch. What the data path uses (RW, sense,
// status, LUN) does not allocate; what makes text does.
//
// # Errors
//
// Decoders return fixed errors that are ErrShort or ErrFormat, builders ErrRange. A command that did not
// end with GOOD is a *SenseError; its sentinels tell the sender what to do.
//
// # Testing
//
// The tests compare the decoders and builders with sg3_utils (sg_decode_sense, sg_inq, sg_vpd, sg_luns, sg_logs,
// sg_get_lba_status), with tshark, and with data that a Linux target sent (testdata). Every decoder has a fuzz target that also
// checks the way back.
//
// # Clauses
//
// SAM-5 (LUNs, status, task attributes), SPC-5 (INQUIRY, VPD, sense, mode, log pages, REPORT LUNS, REPORT
// SUPPORTED OPERATION CODES and TASK MANAGEMENT FUNCTIONS, target port groups), SBC-4 (block commands,
// START STOP UNIT, capacity, block VPD, mode and log pages).
package scsi
