package state

import (
	"errors"
	"fmt"

	"minisrp/scsi/lun/dbdir"
)

// ErrSpace says that the file system is too full to change the state safely. The caller goes on with what is there,
// or ends; the user makes room.
var ErrSpace = dbdir.ErrSpace

// ErrSchema says that the database is a newer program's. The user starts that one, or takes another directory.
var ErrSchema = errors.New("database of a newer program")

// DatabaseError says that a database cannot be used, and what to do about it. It has been left as it is.
type DatabaseError struct {
	Path string
	Err  error
}

func (e *DatabaseError) Error() string { return fmt.Sprintf("state database %s: %v", e.Path, e.Err) }
func (e *DatabaseError) Unwrap() error { return e.Err }

// Advice returns the way out.
func (e *DatabaseError) Advice() string {
	switch {
	case errors.Is(e.Err, ErrSpace):
		return "make room on that file system, or choose another directory with --state-dir"
	case errors.Is(e.Err, ErrSchema):
		return "start the newer srpd, or choose another directory with --state-dir"
	}
	return fmt.Sprintf("if it is damaged, move it away (mv %s %s.bad) and start again: disks get new names and the embedded\n"+
		"target new identifiers; what is on the disks is not in this database and stays", e.Path, e.Path)
}
