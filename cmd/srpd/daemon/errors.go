package daemon

import (
	"errors"
	"io/fs"
	"net"

	"golang.org/x/sys/unix"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
	"minisrp/cmd/srpd/hold"
	"minisrp/cmd/srpd/socket"
	"minisrp/cmd/srpd/state"
	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/scsi/lun"
	"minisrp/scsi/lun/thin"
	"minisrp/srp"
	"minisrp/verbs"
)

// meanings is the one table from errors of the parts to exit codes. The first line that matches counts.
var meanings = []struct {
	err    error
	code   exitcode.Code
	advice string
}{
	{hold.ErrInUse, exitcode.InUse, "end that process, or choose others with --state-dir, --socket, --control and --tcp"},
	{lun.ErrInUse, exitcode.InUse, "end the process that has the store, or choose another directory with --state-dir"},

	{srp.ErrInvalidConfig, exitcode.Usage, ""},
	{miniport.ErrDuplicate, exitcode.Usage, "give each --target once, or initiator_ext= another value for a second path"},
	{embedded.ErrFault, exitcode.Usage, ""},
	{embedded.ErrImage, exitcode.Unusable, ""},
	{embedded.ErrMemory, exitcode.Usage, "ask for less with --size and --luns (in a configuration: size, and fewer units), or take the store file"},
	{lun.ErrGeometry, exitcode.Usage, "give --size (in a configuration: the unit's size) the size that the disk has, leave it out, or choose another directory with --state-dir"},
	{thin.ErrNoUnit, exitcode.NotFound, "srpd snapshot list names those that there are"},
	{thin.ErrThere, exitcode.Usage, "choose another name"},
	{thin.ErrSnapshot, exitcode.Failure, "take the snapshot again, or another one"},
	{lun.ErrNotFile, exitcode.Usage, "move what is there away, or choose another directory with --state-dir"},
	{socket.ErrPath, exitcode.Usage, "choose a shorter one with --socket, --control or --state-dir"},
	{unix.EFBIG, exitcode.Usage, "ask for less with --size (in a configuration: the unit's size)"},
	{unix.EADDRNOTAVAIL, exitcode.Usage, "name an address that this host has, or 127.0.0.1"},
	{unix.ENOTDIR, exitcode.Usage, "name a directory, or one that can be made"},
	{fs.ErrExist, exitcode.Usage, "choose another path with --socket or --control"},

	{disk.ErrNoUnit, exitcode.NotFound, ""},
	{miniport.ErrNoUnit, exitcode.NotFound, ""},
	{disk.ErrNoCapacity, exitcode.Unusable, "give the unit a capacity at the target, or leave it out with --lun"},
	{disk.ErrNotDisk, exitcode.Unusable, "leave it out with --lun"},
	{disk.ErrNoMedium, exitcode.Unusable, "load a medium, or leave it out with --lun"},
	{disk.ErrBlockSize, exitcode.Unusable, "leave it out with --lun"},
	{disk.ErrNotReady, exitcode.Unusable, "try again when the target says that it is ready"},
	{disk.ErrReserved, exitcode.Unusable, "release it at the initiator that has it"},
	{disk.ErrMedium, exitcode.Unusable, ""},

	{verbs.ErrNoRoute, exitcode.Unreachable, "compare the address with the target's"},
	{verbs.ErrTimeout, exitcode.Unreachable, "see whether the target is up and can be reached"},
	{srp.ErrLoginResponse, exitcode.Unreachable, "the target is at fault"},

	{fs.ErrPermission, exitcode.Denied, "start srpd as a user who may, or choose other paths"},
}

// Explain gives an error of what commands do without a daemon its exit code and advice, as Start does.
func Explain(err error) error { return explain(err) }

// explain gives an error its exit code and advice; nil stays nil.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if e := (*state.DatabaseError)(nil); errors.As(err, &e) {
		return exitcode.With(exitcode.State, err, e.Advice())
	}
	if e := (*thin.Error)(nil); errors.As(err, &e) && !errors.Is(err, lun.ErrInUse) {
		return exitcode.With(exitcode.State, err, e.Advice())
	}
	if e := (*srp.OptionError)(nil); errors.As(err, &e) {
		return exitcode.With(exitcode.Usage, err, "")
	}
	if e := (*srp.RejectError)(nil); errors.As(err, &e) {
		if e.Reason == 0 && e.CM == verbs.RejectInvalidServe {
			return exitcode.With(exitcode.Unreachable, err, e.Advice())
		}
		return exitcode.With(exitcode.Rejected, err, e.Advice())
	}
	if e := (*net.DNSError)(nil); errors.As(err, &e) {
		return exitcode.With(exitcode.Usage, err, "name an address that this host has, or 127.0.0.1")
	}
	for _, m := range meanings {
		if errors.Is(err, m.err) {
			return exitcode.With(m.code, err, m.advice)
		}
	}
	return err
}
