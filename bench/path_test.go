package bench

import (
	"context"
	"testing"

	"minisrp/bench/model"
)

// BenchmarkPath is a request's way from the port driver through two queue pairs to a ram unit and back.
func BenchmarkPath(b *testing.B) { each(b, (*model.Bed).Path) }

// BenchmarkModel is an adapter without a protocol, over the same memory.
func BenchmarkModel(b *testing.B) { each(b, (*model.Bed).Model) }

// BenchmarkMemcpy is the copies alone.
func BenchmarkMemcpy(b *testing.B) { each(b, (*model.Bed).Memcpy) }

func each(b *testing.B, open func(*model.Bed, model.Case) (model.Subject, error)) {
	bed, err := model.New(b.Context(), model.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := bed.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	for _, c := range model.Cases() {
		s, err := open(bed, c)
		if err != nil {
			b.Fatal(err)
		}
		s.Run(10000)
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(c.Size))
			if failed := s.Run(b.N); failed != 0 {
				b.Errorf("%d requests failed", failed)
			}
		})
	}
}
