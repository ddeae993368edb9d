package dispatch

import (
	"fmt"
	"strings"
	"time"
)

// The run-time twin of test/levelcheck: with the build tag leveltwin, what the checker proves of the source is asserted
// while the program runs, and how long DPCs take is measured. Without it nothing of this leaves a trace in the code.
//
// A broken assertion panics.

// Layer is a layer of the system whose completions must not nest.
type Layer uint8

const (
	LayerSRP Layer = iota
	LayerPort
	LayerDisk
	layers
)

var layerNames = [layers]string{"srp", "miniport", "scsi/disk"}

func (l Layer) String() string { return layerNames[l] }

// Times says how long the DPCs and timers of a processor took, one at a time. It is empty without the twin.
type Times struct {
	// Took counts DPCs by their time: Took[i] those that took less than 1<<i nanoseconds, and not less than half of it.
	Took  [timesBuckets]uint64
	Worst time.Duration // the longest
	Who   string        // the function that took it
}

const timesBuckets = 40 // the last is everything from 2^38 ns, four and a half minutes

// Percentile returns a time that the part q (0 to 1) of the DPCs did not exceed, as the power of two above it.
func (t *Times) Percentile(q float64) time.Duration {
	var all, below uint64
	for _, n := range t.Took {
		all += n
	}
	for i, n := range t.Took {
		if below += n; all > 0 && float64(below) >= q*float64(all) {
			return 1 << i
		}
	}
	return 0
}

// String lists how many DPCs took how long, and names what took longest.
func (t *Times) String() string {
	var all uint64
	for _, n := range t.Took {
		all += n
	}
	if all == 0 {
		return "no DPCs"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d DPCs: p50 < %v, p99 < %v, p99.9 < %v, worst %v in %s;", all, t.Percentile(0.5), t.Percentile(0.99), t.Percentile(0.999), t.Worst, t.Who)
	for i, n := range t.Took {
		if n != 0 {
			fmt.Fprintf(&b, " %d < %v,", n, time.Duration(1)<<i)
		}
	}
	return strings.TrimSuffix(b.String(), ",")
}
