package thin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"minisrp/scsi/lun/thin"
)

// A writer of zeros has badger compact most of the time: rounds are a chunk each, over and over a disk that is large.
const (
	zeroBytes  = 16 << 20
	zeroRounds = 512
	zeroSize   = (zeroRounds + 1) * zeroBytes // the last is not the writer's
)

func zeroForEver(dir string) {
	ctx, s := context.Background(), opened(dir, zeroSize)
	for n := uint64(0); ; n++ {
		must(s.Zero(ctx, n*37%zeroRounds*zeroBytes, zeroBytes, false))
		must(s.Flush(ctx))
		fmt.Println("round", n)
	}
}

// zeroed reports whether the disk has what the rounds told have flushed.
func zeroed(s *thin.Store, rounds int) error {
	for n := range uint64(rounds) {
		off := n * 37 % zeroRounds * zeroBytes
		if hole, length, err := s.Extent(context.Background(), off); err != nil || hole || length < zeroBytes {
			return errors.Join(err, fmt.Errorf("round %d of %d: hole %v for %d", n, rounds, hole, length))
		}
	}
	return nil
}

// The same where badger has much to compact when the space ends.
func TestFullDiskCompacting(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	testFullDisk(t, "full zero")
}
