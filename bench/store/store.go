package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/scsi/lun"
	"minisrp/scsi/lun/thin"
	"minisrp/test/rig"
	"minisrp/verbs/dispatch"
)

// Kinds are the stores that Config.Kind may name.
var Kinds = []string{"file", "badger"}

// Config says what is measured. All of it must be given.
type Config struct {
	Kind  string
	Dir   string        // on the disk that is meant
	Size  uint64        // of the unit, in bytes; all of it is written first
	Block uint32        // bytes a write
	Depth int           // requests at a time, flushes among them
	Every int           // writes from one flush to the next
	Time  time.Duration // that it lasts
}

// Result is what was measured.
type Result struct {
	Writes  int
	Flushes int
	Took    time.Duration // until the last flush
}

// Rate returns writes a second.
func (r Result) Rate() float64 { return float64(r.Writes) / r.Took.Seconds() }

// Measure sets a stack up, fills the unit, and measures.
//
//level:passive
func Measure(ctx context.Context, c Config) (res Result, err error) {
	dir, err := os.MkdirTemp(c.Dir, "store-")
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, end, err := open(c, dir)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, end()) }()
	r, err := rig.New(ctx, rig.Config{Stores: []lun.Store{store}})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.Close(ctx)) }()
	region, free, err := r.Memory(ctx, max(c.Depth*int(c.Block), fillBytes))
	if err != nil {
		return res, err
	}
	defer free()
	_, _ = rand.NewChaCha8([32]byte{}).Read(region.Bytes()) // a thin unit keeps no zeros
	if err := fill(r, region, c.Size); err != nil {
		return res, err
	}
	l := newLoad(c, r.Disks[0], region)
	var f dispatch.Frame
	r.Processor.Raise(&f)
	l.start(&f)
	f.Lower()
	<-l.finished
	return l.result, l.err
}

// fillBytes is written at a time when a unit is filled.
const fillBytes = 1 << 20

func fill(r *rig.Rig, region *miniport.Region, size uint64) error {
	q := disk.Request{Op: disk.Write, Length: fillBytes, Data: []miniport.Segment{{Region: region, Length: fillBytes}}}
	for q.Offset = 0; q.Offset < size; q.Offset += fillBytes {
		if err := r.Do(r.Disks[0], &q); err != nil {
			return err
		}
	}
	return r.Do(r.Disks[0], &disk.Request{Op: disk.Flush})
}

// open makes a store in a directory, and says how it is closed after its unit.
func open(c Config, dir string) (lun.Store, func() error, error) {
	switch path := filepath.Join(dir, "unit"); c.Kind {
	case "file":
		s, err := lun.OpenFile(path, lun.FileOptions{Size: c.Size})
		return s, func() error { return nil }, err
	case "badger":
		db, err := thin.Open(path, thin.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, nil, err
		}
		end := func() error { return db.Close(context.Background()) }
		s, err := db.Open("unit", thin.Unit{Size: c.Size})
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		return s, end, nil
	}
	return nil, nil, fmt.Errorf("store %q, want one of %q", c.Kind, Kinds)
}
