package thin

import (
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"minisrp/scsi/lun/dbdir"
)

// Space that is being set aside, or given back, is not missed by those who look meanwhile.
func TestReserveMoves(t *testing.T) {
	const all = 200 << 20
	file := filepath.Join(t.TempDir(), "reserve")
	r := room{
		log: slog.New(slog.DiscardHandler), reserve: dbdir.Reserve(file), tight: make(chan struct{}, 1),
		free: func(string) (uint64, error) { return all - dbdir.Allocated(file), nil },
	}
	if err := r.reserve.Make(4096); err != nil {
		t.Fatal(err)
	}
	if dbdir.Allocated(file) == 0 {
		t.Skip("the file system of the temporary directory sets nothing aside")
	}
	var moves sync.WaitGroup
	moved := make(chan struct{})
	moves.Go(func() {
		defer close(moved)
		for range 100 {
			if err := r.spend(); err != nil {
				t.Error(err)
			}
			if err := r.refill(); err != nil {
				t.Error(err)
			}
		}
	})
	defer moves.Wait()
	for {
		if free, held, err := r.look(); err != nil || free+held < all-1<<20 {
			t.Fatalf("%d MiB are free and %d MiB set aside, of %d MiB: %v", free>>20, held>>20, all>>20, err)
		}
		select {
		case <-moved:
			return
		default:
		}
	}
}
