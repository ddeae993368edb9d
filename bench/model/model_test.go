package model_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minisrp/bench/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every subject copies the same bytes, from and to the same places.
func TestSubjectsCopyTheSame(t *testing.T) {
	for _, write := range []bool{false, true} {
		for _, c := range []model.Case{{Size: 4096, Depth: 1}, {Size: 4096, Depth: 7}, {Size: 64 << 10, Depth: 8}, {Size: 512, Depth: 3, Lanes: 2}} {
			c.Write = write
			t.Run(c.String(), func(t *testing.T) {
				var want []byte
				for _, open := range []func(*model.Bed, model.Case) (model.Subject, error){
					(*model.Bed).Memcpy, (*model.Bed).Model, (*model.Bed).Path,
				} {
					b := newBed(t, model.Config{Unit: 1 << 20, Lanes: c.Lanes})
					model.Fill(b)
					s, err := open(b, c)
					if err != nil {
						t.Fatal(err)
					}
					// Any number, in parts, and fewer than there is room for.
					for _, n := range []int{1, 100, 2, 28} {
						if failed := s.Run(n); failed != 0 {
							t.Errorf("%s: %d failed", s.Name(), failed)
						}
					}
					got := model.Contents(b)
					if want == nil {
						want = got
					} else if !bytes.Equal(got, want) {
						t.Errorf("%s leaves other bytes in the units and buffers than memcpy", s.Name())
					}
				}
			})
		}
	}
}

func newBed(t *testing.T, c model.Config) *model.Bed {
	t.Helper()
	b, err := model.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestMeasure(t *testing.T) {
	b := newBed(t, model.Config{Unit: 1 << 20})
	r, err := b.Measure(t.Context(), model.Case{Size: 4096, Depth: 2}, model.Plan{Rounds: 3, Turn: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"memcpy", "model", "path"} {
		if s := r.Time[name]; len(s) != 3 || len(r.CPU[name]) != 3 || s.Median() <= 0 || r.Bytes(name) <= 0 {
			t.Errorf("%s: %v", name, s)
		}
	}
}

func TestCasesThatDoNotFit(t *testing.T) {
	b := newBed(t, model.Config{Unit: 1 << 20, Buffers: 64 << 10})
	for _, c := range []model.Case{
		{Size: 4096, Depth: 17}, {Size: 4096}, {Size: 4096, Depth: -1}, {Size: 100, Depth: 1}, {Depth: 1},
		{Size: 128 << 10, Depth: 1}, {Size: 4096, Depth: 1, Lanes: 2}, {Size: 4096, Depth: 1, Lanes: -1},
	} {
		if _, err := b.Path(c); !errors.Is(err, model.ErrCase) {
			t.Errorf("%+v: %v", c, err)
		}
		if _, err := b.Measure(t.Context(), c, model.Plan{}); !errors.Is(err, model.ErrCase) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestSamples(t *testing.T) {
	s := model.Samples{4, 1, 3, 2}
	if m := s.Median(); m != 2.5 {
		t.Errorf("median %v, want 2.5", m)
	}
	if m := s[:3].Median(); m != 3 {
		t.Errorf("median %v, want 3", m)
	}
	if m := (model.Samples{}).Median(); m != 0 {
		t.Errorf("median of none is %v", m)
	}
	if r := s.Over(model.Samples{2, 2}); len(r) != 2 || r[0] != 2 || r[1] != 0.5 {
		t.Errorf("ratios %v", r)
	}
}
