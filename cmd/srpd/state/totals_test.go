package state

import (
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"time"

	"minisrp/scsi"
)

// Totals of more units than one transaction takes are there after Close and Open, the newest of each.
func TestTotals(t *testing.T) {
	dir := t.TempDir()
	opt := Options{Log: slog.New(slog.DiscardHandler)}
	want := map[scsi.UnitID]Totals{}
	for run := range uint64(2) {
		s, err := Open(dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 * atOnce {
			want[scsi.UnitID(fmt.Sprintf("naa.%d", i))] = Totals{Since: time.Unix(int64(i), 0).UTC(), Reads: run + uint64(i), Errors: 1}
		}
		if err := s.PutTotals(t.Context(), want); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Totals(t.Context()); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v\n%v\n%v", err, got, want)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
