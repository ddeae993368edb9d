package disk

import "time"

const (
	// DefaultDepth is how many commands a disk has at the unit for each processor. It is a little more than the
	// 62 that the port has at an adapter at a time, so that the port's queue never runs dry. 1 to MaxDepth.
	DefaultDepth = 64
	// MaxDepth bounds Options.Depth. A command's storage takes about 2 KiB.
	MaxDepth = 1024

	// DefaultMaxTransfer is the most data of one command, in bytes, where neither the adapter nor the unit
	// wants less: twice Linux's default, and a good 80 µs of a 100 Gbit/s link.
	DefaultMaxTransfer = 1 << 20
	// MinMaxTransfer bounds Options.MaxTransfer from below: the smallest logical block. A disk with a larger one
	// than the limit cannot be opened.
	MinMaxTransfer = minBlock

	// MaxSegments is how many pieces of memory one command can have: what the port takes.
	MaxSegments = 16

	// minBlock and maxBlock bound the logical block, in bytes; it is a power of two. Larger ones than 4 KiB are
	// not on the market, but cost nothing here.
	minBlock = 512
	maxBlock = 64 << 10

	// controlMemory holds the answer to one command of the identification. The longest that is asked for is a
	// device identification page; what is cut off it are designators of ports.
	controlMemory = 16 << 10
	// shortAnswer is what a page is asked for with at first: the most that devices of SCSI-2 can be asked for.
	shortAnswer = 252
	// shortTries is how often a page is read that comes shorter than it says; after that it counts as it is.
	shortTries = 3

	// zeroMemory is the memory that zeros are written from. Each of a command's segments points to all of it.
	zeroMemory = maxBlock

	// unmapDescriptors is how many descriptors an UNMAP command has at most. A request is one range, so more
	// than one are needed only above 2^32-1 blocks, where the unit has no limit.
	unmapDescriptors = 8
	// unmapMemory holds UNMAP's parameter list, 8 bytes and 16 a descriptor.
	unmapMemory = 256

	// listsAtOnce is how many lists are registered together.
	listsAtOnce = 256

	// bulkParts is how many commands an Unmap or WriteZeroes has at the unit at a time. They keep the unit busy
	// for long; all of the depth would leave nothing to reads.
	bulkParts = 4
	// bulkPart is the least that such a command covers before a request is shared out, in bytes.
	bulkPart = 1 << 20
	// maxSameBytes is what one WRITE SAME covers, also where the unit would take more or does not say: Linux's
	// limit, which a disk that really writes 35 MB/s ends within bulkTimeout.
	maxSameBytes = 4 << 30
	// maxSame10 is the most blocks that WRITE SAME(10) can say; zero means something else.
	maxSame10 = 1<<16 - 1

	// flushTimeout and bulkTimeout are deadlines of SYNCHRONIZE CACHE and of UNMAP and WRITE SAME: Linux's. All
	// others have the port's.
	flushTimeout = 60 * time.Second
	bulkTimeout  = 120 * time.Second

	// timeLimit is how long one command is tried, with all its retries: Linux's (5 + 1) × 30 s. A retry is not
	// begun when it would begin later than that after the first try.
	timeLimit = 180 * time.Second
)

// policy is how often a class of failure is tried again, and after which time: delay, doubled each time up to
// most.
type policy struct {
	tries       uint8
	delay, most time.Duration
}

// policies are by class. timeLimit bounds them all.
var policies = [classes]policy{
	// Each event of a unit costs a command, and a unit may owe several (SAM-5 5.14 lists a dozen kinds).
	classAttention: {tries: 16},
	// A unit that spins up, or a controller that takes over, is ready within a minute or two. The time limit ends
	// it, not the number.
	classNotReady: {tries: 255, delay: 100 * time.Millisecond, most: 2 * time.Second},
	// The port has retried for 5 s already when it says busy.
	classBusy: {tries: 30, delay: 250 * time.Millisecond, most: 4 * time.Second},
	// The unit gave the command up, and is there.
	classAborted: {tries: 5},
	// The target cannot reach its unit. Only this unit waits, the session has nothing to do with it.
	classLink: {tries: 10, delay: 100 * time.Millisecond, most: 5 * time.Second},
	// A reset has ended the command; what it was that needed a reset may come again.
	classReset: {tries: 5},
	// Each costs its deadline, 30 s and more.
	classTimeout: {tries: 2},
	// A status that means nothing in particular, no sense data, or less data than asked for without a word.
	classUnclear: {tries: 3},
	// The medium: once, since the unit has its own retries.
	classMedium: {tries: 1},
	// An error of an earlier command took this one's place.
	classDeferred: {tries: 16},
}
