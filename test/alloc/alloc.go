package alloc

import (
	"runtime"
	"runtime/debug"
)

// attempts are made, since others in the process allocate now and then; what fn does itself shows in each of them.
const attempts = 5

// Count calls fn rounds times and returns how many allocations the whole process made meanwhile, on every goroutine:
// exactly, where testing.AllocsPerRun rounds down what happens less than once a round. It returns the least of a few
// attempts, 0 as soon as there was one without.
func Count(rounds int, fn func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	fn()
	least := ^uint64(0)
	var before, after runtime.MemStats
	for range attempts {
		runtime.ReadMemStats(&before)
		for range rounds {
			fn()
		}
		runtime.ReadMemStats(&after)
		if least = min(least, after.Mallocs-before.Mallocs); least == 0 {
			break
		}
	}
	return least
}
