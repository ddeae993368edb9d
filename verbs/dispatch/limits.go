package dispatch

import "time"

const (
	// DefaultItems is the number of DPCs that one drain runs before it passes the
	// flag on. 1 to 1<<20. It bounds how long a submitter works for others: at 50
	// to 200 ns a DPC, 1,024 are about a scheduler quantum's fraction.
	// Reads over NBD were as many with 64 and with 16,384.
	DefaultItems = 1024

	// DefaultTime is the time after which a drain passes the flag on. It is looked
	// at every timeCheckEvery DPCs, since a clock read costs as much as a DPC.
	DefaultTime = 1 * time.Millisecond

	timeCheckEvery = 64

	// lingerTime is how long a worker keeps a goroutine that it has no work for: a unit under load does not start one
	// for each request, and thousands of idle units do not have one each for every request that they could work on.
	lingerTime = 5 * time.Second
)
