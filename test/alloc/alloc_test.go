package alloc_test

import (
	"testing"

	"minisrp/test/alloc"
)

var kept *int

func TestCount(t *testing.T) {
	if n := alloc.Count(100, func() {}); n != 0 {
		t.Errorf("%d allocations of what makes none", n)
	}
	i := 0
	// Once in ten rounds, which an average would not show.
	n := alloc.Count(100, func() {
		if i++; i%10 == 0 {
			kept = new(int)
		}
	})
	if n < 10 || n > 50 {
		t.Errorf("%d allocations of what makes 10", n)
	}
}
