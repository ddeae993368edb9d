package interleave_test

import (
	"fmt"
	"testing"

	"minisrp/test/interleave"
)

// Two actors that read, then write a counter lose a count in some orders, and the
// search finds both outcomes.
func Example() {
	outcomes := map[int]bool{}
	interleave.Search(1000, func(choose interleave.Chooser) {
		var r interleave.Run
		n := 0
		for _, name := range []string{"a", "b"} {
			r.Go(name, nil, func() {
				seen := n
				r.At()
				n = seen + 1
			})
		}
		if err := r.Finish(choose); err != nil {
			fmt.Println(err)
		}
		outcomes[n] = true
	}, func() bool { return false })
	fmt.Println(outcomes)
	// Output: map[1:true 2:true]
}

func TestWaitingForEverIsAnError(t *testing.T) {
	var r interleave.Run
	r.Go("waiter", nil, func() { r.When(func() bool { return false }) })
	if err := r.Finish(interleave.Random(1)); err == nil || err.Error() != "waits for ever: waiter" {
		t.Errorf("%v", err)
	}
}

func TestSearchIsExhaustive(t *testing.T) {
	// Three actors with one stop each: two turns each, 6!/(2!2!2!) orders.
	n := interleave.Search(1000, func(choose interleave.Chooser) {
		var r interleave.Run
		for _, name := range []string{"a", "b", "c"} {
			r.Go(name, nil, r.At)
		}
		r.Finish(choose)
	}, func() bool { return false })
	if n != 90 {
		t.Errorf("%d orders, want 90", n)
	}
}

func TestServerEndsWithTheRun(t *testing.T) {
	var r interleave.Run
	n, served := 0, 0
	r.Serve("server", func() bool { return n > 0 }, func() { n--; served++; r.At() })
	r.Go("client", nil, func() {
		for range 3 {
			n++
			r.At()
		}
	})
	if err := r.Finish(interleave.Random(7)); err != nil || served != 3 {
		t.Errorf("served %d of 3: %v", served, err)
	}
}
