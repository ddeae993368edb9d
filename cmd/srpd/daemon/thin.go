package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"minisrp/scsi/lun/thin"
)

// ThinDir is where in a state directory the database of thin units is.
func ThinDir(state string) string { return filepath.Join(state, "thin") }

// thinName is the name of a target's unit in that database.
func thinName(target string, n int) string { return fmt.Sprintf("%s-%d", target, n) }

// thinStore is the database of thin units, which is opened when the first of them is.
//
// Ownership: the daemon's, which closes it after the embedded targets. open may be called on any goroutine.
type thinStore struct {
	// Fixed after construction.
	dir string
	log *slog.Logger

	mu sync.Mutex // guards db, and makes attempts one at a time
	db *thin.DB   // nil until it is open
}

// open opens the database, if it is not open. After a failure it can be tried again.
func (s *thinStore) open() (*thin.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != nil {
		return s.db, nil
	}
	db, err := thin.Open(s.dir, thin.Options{Log: s.log})
	if err != nil {
		return nil, err
	}
	s.db = db
	return db, nil
}

func (s *thinStore) close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	return s.db.Close(ctx)
}
