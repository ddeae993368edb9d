// Package disk is the disk class driver: it turns reads, writes, flushes, unmaps
// and zeroing of byte ranges into SCSI tasks on a unit of the port driver. It
// must not know how the unit is reached.
package disk
