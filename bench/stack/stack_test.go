package stack_test

import (
	"testing"

	"go.uber.org/goleak"

	"minisrp/bench/load"
	"minisrp/bench/stack"
	"minisrp/cmd/srpd/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Units of every kind, behind several targets and on several processors, take a load.
func TestStacks(t *testing.T) {
	for _, c := range []stack.Config{
		{Size: 1 << 20},
		{Targets: 3, Units: 2, Size: 1 << 20, Store: embedded.File, QueueSize: 8},
		{Targets: 2, Units: 2, Size: 1 << 20, Processors: 2},
		{Size: 1 << 20, Units: 2, Store: embedded.Badger},
		{Size: 1 << 30, Store: embedded.Null},
	} {
		t.Run(string(c.Store), func(t *testing.T) {
			c.Dir = t.TempDir()
			s, err := stack.New(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			j := load.NewJob("j")
			j.Number, j.Depth, j.Clones, j.RW = 200, 8, 2, load.RW{Read: true, Write: true, Random: true}
			j.Units = nil
			for i := range s.Units {
				j.Units = append(j.Units, i)
			}
			r, err := load.Run(t.Context(), load.Config{Port: s.Port, Units: s.Units, Jobs: []load.Job{j}})
			if err != nil {
				t.Error(err)
			} else if err := r.Err(); err != nil || r.Jobs[0].Requests() != 400 {
				t.Errorf("%d requests, %v", r.Jobs[0].Requests(), err)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if s, err := stack.New(t.Context(), stack.Config{Targets: stack.MaxTargets + 1}); err == nil {
		t.Error("too many targets were made", s.Close(t.Context()))
	}
	if s, err := stack.New(t.Context(), stack.Config{Store: embedded.File, Size: 1 << 20, Dir: "/nonexistent"}); err == nil {
		t.Error("a file was made where there is no directory", s.Close(t.Context()))
	}
}
