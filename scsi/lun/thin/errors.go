package thin

import (
	"errors"
	"fmt"
	"syscall"

	"minisrp/scsi/lun"
	"minisrp/scsi/lun/dbdir"
)

// ErrDamaged says that the database's files are not what was written. The user puts a snapshot in its place, or begins
// anew.
var ErrDamaged = errors.New("damaged")

// ErrVersion says that the database is another program's, a newer or an older one. The user starts that one, and
// takes snapshots with it, or takes another directory.
var ErrVersion = errors.New("database of another version")

// Error says that a database cannot be used. It has been left as it is.
type Error struct {
	Path string // of the database
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("thin store %s: %v", e.Path, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Advice returns the way out.
func (e *Error) Advice() string {
	switch {
	case errors.Is(e.Err, dbdir.ErrSpace):
		return fmt.Sprintf("make room on the file system of %s", e.Path)
	case errors.Is(e.Err, ErrVersion):
		return "start the program that made it, to save snapshots, or choose another directory"
	case errors.Is(e.Err, lun.ErrInUse):
		return "end the process that has it, or choose another directory"
	case errors.Is(e.Err, syscall.ENOTDIR):
		return fmt.Sprintf("%s has to be a directory: move what is there away, or choose another state directory", e.Path)
	case errors.Is(e.Err, ErrDamaged):
		return fmt.Sprintf("move it away (mv %s %s.bad) and start again, with empty disks, into which snapshots can be restored",
			e.Path, e.Path)
	}
	return ""
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}
