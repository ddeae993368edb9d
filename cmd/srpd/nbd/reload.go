package nbd

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// reloaded is what has been read from files, and is read again when one has been replaced.
//
// Ownership: anyone's.
type reloaded[T any] struct {
	// Fixed after construction.
	files []string
	load  func() (T, error)

	mu      sync.Mutex // guards what follows
	current T
	loaded  bool
	read    string // what the files were like when they were read
}

// get returns what is in the files now. With an error, which says why that cannot be
// used, it is what was read before; the zero value if there is none.
func (r *reloaded[T]) get() (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.like()
	if r.loaded && now == r.read {
		return r.current, nil
	}
	v, err := r.load()
	if err != nil {
		// Perhaps not all of them have been replaced yet: the next one tries again.
		return r.current, err
	}
	r.current, r.read, r.loaded = v, now, true
	return v, nil
}

// like describes the files, so that it shows when one has been replaced, written to, or given to others.
func (r *reloaded[T]) like() (all string) {
	for _, name := range r.files {
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil {
			all += fmt.Sprintln(name, st.Ino, st.Size, st.Mtim, st.Ctim)
		}
	}
	return all
}
