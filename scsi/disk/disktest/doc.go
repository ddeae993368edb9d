// Package disktest has the other side of a disk: a port without a fabric, and a unit of RAM that executes CDBs and
// fails as it is told to. It must not be imported by what is shipped.
//
//	proc := dispatch.NewManual("test")
//	unit := disktest.NewUnit(proc, disktest.Config{…})
//	d, err := disk.Open(ctx, unit, disktest.NewPort(proc), disk.Options{})
//	unit.Script(scsi.OpRead10, disktest.Check(scsi.KeyMediumError, scsi.ASCUnrecoveredRead))
//
// # Ownership
//
// A unit belongs to its processor: commands are executed there, whatever processor they come from, and complete
// there. A test changes it while a manual processor rests, or by Do.
//
// # Levels
//
// Submit and what it leads to are Dispatch; what a test calls is Passive.
package disktest
