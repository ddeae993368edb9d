package priority

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"minisrp/scsi/lun/thin"
	"minisrp/verbs/dispatch/token"
)

// burners is how many goroutines burn CPU.
const burners = 4

// unitBytes is the size of the unit that is written to, large enough for badger to have several levels.
const unitBytes = 256 << 20

// load is what Passive goroutines do meanwhile: some hash, and one writes to a badger unit as fast as it takes it, so
// that there is always something to compact.
//
// Ownership: start, stop and close by one goroutine.
type load struct {
	hostile bool
	dir     string
	db      *thin.DB
	store   *thin.Store
	written uint64

	cancel  context.CancelFunc
	running sync.WaitGroup
	failed  error // of the writer
}

func newLoad(c Config) (*load, error) {
	dir, err := os.MkdirTemp(c.Dir, "priority-")
	if err != nil {
		return nil, err
	}
	l := &load{hostile: c.Hostile, dir: dir}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	if l.db, err = thin.Open(filepath.Join(dir, "thin"), thin.Options{Log: quiet}); err == nil {
		l.store, err = l.db.Open("unit", thin.Unit{Size: unitBytes})
	}
	if err != nil {
		return nil, errors.Join(err, l.close(context.Background()))
	}
	return l, nil
}

func (l *load) start(ctx context.Context) {
	ctx, l.cancel = context.WithCancel(ctx)
	for range burners {
		l.running.Go(func() { l.burn(ctx) })
	}
	l.running.Go(func() { l.failed = l.write(ctx) })
}

// burn hashes, in pieces with a token each, or without.
func (l *load) burn(ctx context.Context) {
	block := make([]byte, 64<<10)
	piece := func() {
		for begun := time.Now(); time.Since(begun) < token.Step/2; {
			sum := sha256.Sum256(block)
			copy(block, sum[:])
		}
	}
	for ctx.Err() == nil {
		if l.hostile {
			piece()
		} else {
			_ = token.Default.Do(ctx, piece)
		}
	}
}

// write writes 4 KiB at random places, with a flush after every 32.
func (l *load) write(ctx context.Context) error {
	block := make([]byte, 4096)
	noise, places := rand.NewChaCha8([32]byte{}), rand.New(rand.NewPCG(1, l.written))
	for n := 1; ctx.Err() == nil; n++ {
		_, _ = noise.Read(block)
		err := l.store.Write(ctx, [][]byte{block}, places.Uint64N(unitBytes/4096)*4096, n%32 == 0)
		if err != nil && ctx.Err() == nil {
			return err
		}
		l.written += 4096
	}
	return nil
}

func (l *load) stop() error {
	l.cancel()
	l.running.Wait()
	return l.failed
}

func (l *load) close(ctx context.Context) error {
	var err error
	if l.store != nil {
		err = l.store.Close(ctx)
	}
	if l.db != nil {
		err = errors.Join(err, l.db.Close(ctx))
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}
