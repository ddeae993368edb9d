package lun

import "time"

const (
	// MinBlockSize and MaxBlockSize bound the logical block, in bytes. The upper end keeps a block, and with it
	// WRITE SAME's, within the smallest buffer that a target must offer (MinBuffer).
	MinBlockSize = 512
	MaxBlockSize = 4096

	// MaxTransfer is the most that one READ or WRITE moves, in bytes; Block Limits says it to the initiator. 8 MiB
	// is beyond what initiators send by default (1 MiB), and bounds what a target keeps in buffers for a task.
	MaxTransfer = 8 << 20

	// MinBuffer is the least first piece of memory, in bytes, that a target offers for a transfer of that size or
	// more: UNMAP and WRITE SAME want their data in one piece, and have no more than this.
	MinBuffer = 4096

	// maxUnmapDescriptors is the number of block descriptors that UNMAP takes: as many as fit MinBuffer.
	maxUnmapDescriptors = (MinBuffer - 8) / 16

	// maxUnmapBytes is what one UNMAP may give back. A store in memory clears it, at 5 GB/s or more: below a
	// second, where initiators wait for 30.
	maxUnmapBytes = 4 << 30

	// maxWriteSameBytes is what one WRITE SAME may write. A store without cheap zeros writes all of it: at 100 MB/s
	// 256 MiB take 2.6 s.
	maxWriteSameBytes = 256 << 20

	// maxCompareBlocks is what one COMPARE AND WRITE compares, in blocks: cluster file systems use one. Its tasks
	// hold up others that touch the blocks.
	maxCompareBlocks = 128

	// maxPrefetchBytes is what one PRE-FETCH brings into a cache. A disk of 200 MB/s reads it in a third of a second.
	maxPrefetchBytes = 64 << 20

	// fillBytes is the size of one write of a repeated block, and of one read of blocks that are only compared.
	fillBytes = 256 << 10

	// fullRoom is the free space, in bytes, at which a file system is not full any more; fullEvery is the least time
	// between two times that it is told to be. Both keep the log short where others free and take the last blocks.
	fullRoom  = 16 << 20
	fullEvery = time.Minute

	// maxRegistrants is the number of nexuses that may be registered for persistent reservations with a unit. Clusters
	// have up to 64 hosts, some with two paths.
	maxRegistrants = 128

	// DefaultWorkers is the number of requests that a store works on at once, 1 to MaxWorkers. 8 keep a solid
	// state disk busy; each costs a thread while it waits.
	DefaultWorkers = 8
	MaxWorkers     = 64

	// MaxUnits is the number of LUNs of a Server, 0 to MaxUnits-1.
	MaxUnits = 256
)
