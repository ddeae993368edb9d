package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"minisrp/scsi/lun"
	"minisrp/scsi/lun/thin"
)

// Kind is a kind of store.
type Kind string

// The kinds.
const (
	File   Kind = "file"
	Badger Kind = "badger"
	RAM    Kind = "ram"
	Null   Kind = "null"
)

// Kinds lists them, the default first.
var Kinds = []Kind{File, Badger, RAM, Null}

// blockSize is the logical block of all units, in bytes: what every client takes.
const blockSize = 512

// DefaultSize is the size of a new unit of a kind, in bytes. Files are sparse, and so are units in a database; memory is
// not.
func DefaultSize(k Kind) uint64 {
	if k == RAM {
		return 256 << 20
	}
	return 8 << 30
}

// StoreError says which unit's store cannot be had, and why.
type StoreError struct {
	LUN  int
	Path string // of a file store; "" for others
	Err  error
}

func (e *StoreError) Error() string {
	s := fmt.Sprintf("embedded target, LUN %d", e.LUN)
	if e.Path != "" {
		s += ", " + e.Path
	}
	return s + ": " + e.Err.Error()
}

func (e *StoreError) Unwrap() error { return e.Err }

// ErrMemory says that ram stores would take more memory than there is. The user asks for less.
var ErrMemory = errors.New("not enough memory")

// path returns where the store of a unit in a file is, or "".
func (u *Unit) path() string {
	if u.Store == File {
		return u.Path
	}
	return ""
}

// openStore opens the store of unit n. A size of 0 takes a file as it is, and the default for what is new.
func openStore(ctx context.Context, cfg *Unit, log *slog.Logger, thinDB func() (*thin.DB, error), n int) (lun.Store, *StoreError) {
	var s lun.Store
	var err error
	path, size := cfg.path(), cfg.Size
	switch cfg.Store {
	case File:
		st, serr := os.Stat(path)
		fresh := errors.Is(serr, fs.ErrNotExist) || serr == nil && st.Size() == 0
		if size == 0 && fresh {
			size = DefaultSize(File)
		}
		only := cfg.ReadOnly && !fresh
		if err = checkImage(ctx, path, log); err != nil {
			break
		}
		s, err = lun.OpenFile(path, lun.FileOptions{Size: size, BlockSize: blockSize, ReadOnly: only, Log: log})
		if err == nil && !only {
			markImage(ctx, path, s.Info().Size, log)
		}
	case Badger:
		s, err = openThin(cfg, thinDB)
	case RAM:
		if size == 0 {
			size = DefaultSize(RAM)
		}
		if free := available(); free > 0 && size > free {
			return nil, &StoreError{LUN: n, Err: fmt.Errorf("%w: a ram store of %d MiB, and %d MiB are available", ErrMemory, size>>20, free>>20)}
		}
		s, err = lun.NewRAM(size, blockSize)
	case Null:
		if size == 0 {
			size = DefaultSize(Null)
		}
		s, err = lun.NewNull(size, blockSize)
	default:
		err = fmt.Errorf("no store of kind %q: %w", cfg.Store, lun.ErrConfig)
	}
	if errors.Is(err, unix.EFBIG) {
		err = fmt.Errorf("the file system takes no file of %d bytes: %w", size, err)
	}
	if err != nil {
		return nil, &StoreError{LUN: n, Path: path, Err: err}
	}
	return s, nil
}

// openThin opens a unit in the database of all that are thin.
func openThin(cfg *Unit, thinDB func() (*thin.DB, error)) (lun.Store, error) {
	if thinDB == nil {
		return nil, fmt.Errorf("there is no database for it: %w", lun.ErrConfig)
	}
	db, err := thinDB()
	if err != nil {
		return nil, err
	}
	s, err := db.Open(cfg.Name, thin.Unit{Size: cfg.Size, BlockSize: blockSize})
	if cfg.Size == 0 && errors.Is(err, thin.ErrNoUnit) {
		s, err = db.Open(cfg.Name, thin.Unit{Size: DefaultSize(Badger), BlockSize: blockSize})
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// available returns the bytes of memory that can be taken without swapping, or 0 if the kernel does not say.
func available() uint64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			kib, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 53)
			return kib << 10
		}
	}
	return 0
}
