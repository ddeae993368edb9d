package state

import (
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"
)

// What was put is there after Close and Open, what was deleted is not, and a disk that is full takes neither.
func TestTargets(t *testing.T) {
	dir := t.TempDir()
	free := uint64(1 << 40)
	opt := Options{Log: slog.New(slog.DiscardHandler), Free: func(string) (uint64, error) { return free, nil }}
	reopen := func(s *Store) *Store {
		t.Helper()
		if s != nil {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ctx := t.Context()
	s := reopen(nil)
	a, b := Target{Login: "a", LUNs: []int{0, 7}}, Target{Login: "b"}
	for key, x := range map[string]Target{"1": {Login: "old"}, "2": b} {
		if err := s.PutTarget(ctx, key, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutTarget(ctx, "1", a); err != nil {
		t.Fatal(err)
	}
	check := func(want map[string]Target) {
		t.Helper()
		got, err := s.Targets(ctx)
		for key, x := range got {
			if time.Since(x.Since) > time.Hour {
				t.Errorf("%s is since %v", key, x.Since)
			}
			x.Since = time.Time{}
			got[key] = x
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	s = reopen(s)
	check(map[string]Target{"1": a, "2": b})
	for range 2 {
		if err := s.DeleteTarget(ctx, "1"); err != nil {
			t.Error(err)
		}
	}
	s = reopen(s)
	check(map[string]Target{"2": b})
	free = 0
	if err := s.PutTarget(ctx, "3", a); !errors.Is(err, ErrSpace) {
		t.Error(err)
	}
	if err := s.DeleteTarget(ctx, "2"); !errors.Is(err, ErrSpace) {
		t.Error(err)
	}
	free = 1 << 40
	check(map[string]Target{"2": b})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.PutTarget(ctx, "3", a); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
