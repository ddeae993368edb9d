package soft

import "time"

const (
	// copyStep is how much is moved between two looks at the key: an invalidated key
	// stops a copy within this many bytes, about 4 µs.
	copyStep = 64 << 10

	// runBudget bounds what one run of an engine does before it lets others go on:
	// 16 steps of copying (1 MiB, about 100 µs), or 256 small requests.
	runBudget   = 1024
	stepCost    = 64
	requestCost = 4

	// mtu is the path MTU that packet sequence numbers count by; no message is really
	// cut within one process.
	mtu = 4096

	maxQP  = 1 << 16
	maxCQ  = 1 << 16
	maxKey = 1 << 20 // MRs and windows together
	maxWR  = 1 << 15
	maxCQE = 1 << 20

	maxMRSize = 1 << 40 // bytes

	// readAtomic is how many RDMA READs a QP may have open; they are done in order,
	// one at a time, so it costs nothing.
	readAtomic = 16

	defaultConnectTimeout = 5 * time.Second

	// defaultRNRTimer is how long a sender waits for a receive when the receiver did
	// not say.
	defaultRNRTimer = 10 * time.Microsecond

	// rnrForEver is the retry count that never ends (IBA 9.7.5.2.8).
	rnrForEver = 7
)
