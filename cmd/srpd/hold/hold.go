package hold

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrInUse says that another process has what was asked for: end that process, or ask for something else.
var ErrInUse = errors.New("in use by another process")

// InUseError says who has a path or an address.
type InUseError struct {
	What   string // path or address
	Holder Holder
}

func (e *InUseError) Error() string { return e.What + " is in use by " + e.Holder.String() }
func (e *InUseError) Unwrap() error { return ErrInUse }

// Holder is a process as far as it is known.
type Holder struct {
	PID  int    // 0: not known
	Name string // the name of its program; "" if not known
}

// HolderOf names a process by its ID; 0 or less stands for one that is not known.
func HolderOf(pid int) Holder {
	if pid <= 0 {
		return Holder{}
	}
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return Holder{PID: pid, Name: strings.TrimSpace(string(name))}
}

func (h Holder) String() string {
	switch {
	case h.PID <= 0:
		return "another process"
	case h.Name == "":
		return fmt.Sprintf("process %d", h.PID)
	}
	return fmt.Sprintf("process %d (%s)", h.PID, h.Name)
}

// Lock is a lock file that is held.
type Lock struct{ f *os.File }

// New locks the file at path, making it if need be, and writes this process's ID into it. Errors: *InUseError.
//
//level:passive
func New(path string) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			holder := readHolder(f)
			_ = f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, &InUseError{What: path, Holder: holder}
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// The one before us removes the file before it unlocks it: make sure that what we locked is what the name
		// stands for.
		ours, err1 := f.Stat()
		named, err2 := os.Lstat(path)
		if err1 == nil && err2 == nil && os.SameFile(ours, named) {
			// Who cannot be named is still held out, so a full disk is no reason to give up.
			_ = f.Truncate(0)
			_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
			return &Lock{f}, nil
		}
		_ = f.Close()
		if err1 != nil || err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
			return nil, errors.Join(err1, err2)
		}
	}
}

// readHolder reads who has locked a file.
func readHolder(f *os.File) Holder {
	b, _ := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return HolderOf(pid)
}

// Release removes the file and lets it go.
//
//level:passive
func (l *Lock) Release() error { return errors.Join(os.Remove(l.f.Name()), l.f.Close()) }
