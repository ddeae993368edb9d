package dbdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Open opens a database. What badger panics with over damaged files becomes an error, if it does so on this goroutine.
func Open(opt badger.Options) (db *badger.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	if err := checkFiles(opt.Dir); err != nil {
		return nil, err
	}
	return badger.Open(opt)
}

// AwaitTables waits until badger, which has just been opened, has made tables of the logs that it found; but not for
// long, should it not come to that.
func AwaitTables(dir string) {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-look.C {
		if logs, _ := filepath.Glob(filepath.Join(dir, "*.mem")); len(logs) <= 1 {
			return
		}
	}
}

// checkFiles refuses what is no plain file where the database's are: over some of them badger ends the process.
func checkFiles(dir string) error {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, f := range found {
		if !f.Type().IsRegular() {
			return fmt.Errorf("damaged: %s is not a regular file", filepath.Join(dir, f.Name()))
		}
	}
	return nil
}

// RemoveUnborn removes files of badger's that have no size: it makes a log by creating the file and giving it its
// size afterwards, and does not open one that a kill has caught in between. Nothing can be in them.
func RemoveUnborn(dir string) error {
	for _, pattern := range []string{"*.mem", "*.vlog"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			switch fi, err := os.Stat(name); {
			case errors.Is(err, fs.ErrNotExist) || err == nil && fi.Size() != 0:
			case err != nil:
				return err
			default:
				if err := os.Remove(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
