package thin

const (
	// extentBytes is what is kept under one key: the page of the file systems that write to disks. A smaller write reads
	// the rest first.
	extentBytes = 4096

	// chunkExtents is how many extents share a bitmap, a lock and, when they are unmapped, a transaction. A bitmap is
	// written when a write takes space that was free: 512 bytes a 16 MiB of disk.
	chunkExtents = 4096
	chunkBytes   = chunkExtents * extentBytes

	// batchBytes is what one transaction writes: badger takes 15 % of memTable.
	batchBytes = 512 << 10

	// memTable is the size of badger's table in memory, and of the log of that: there are up to three, whose files have
	// twice that. A larger one compacts less and takes more memory and a larger reserve; a smaller one does not take the
	// entries of a chunk in one transaction: 15 % of it, at 96 bytes each.
	memTable = 3 << 20

	// tableBytes is the size of badger's tables on the disk. Each is a mapping of the process, of which Linux gives one
	// 65530 if nobody asks for more (vm.max_map_count): enough for entries of some TiB.
	tableBytes = 2 << 20

	// levelBytes is the size of the first level below level 0, and levelFactor how much larger each one is than the one
	// above: what a compaction of a table meets there.
	levelBytes  = 10 << 20
	levelFactor = 4

	// blockBytes is what badger checks the sum of at a time, when it reads: four extents.
	blockBytes = 4 * extentBytes

	// valueLog is the size of badger's value log, in which nothing is kept: values are in the tables, where a loss of
	// power leaves an older version if it takes a newer one. The least that badger takes.
	valueLog = 1 << 20

	// stallTables is how many tables of level 0 hold writers up until some have been compacted.
	stallTables = 6

	// reserveBytes is set aside for what badger does by itself, and for opening and closing, when others have filled the
	// file system. Its two compactors write no more than compactBytes at a time, before they remove what they have read:
	// level 0 and the level below, and a table and twice as many others as there are to it on average further down.
	reserveBytes = 96 << 20
	compactBytes = (stallTables+1)*memTable + 2*levelBytes + (1+2*levelFactor)*tableBytes

	// flushBytes is more than what becomes of a log when it is made a table, and openBytes than what badger takes to open
	// beside that: a log, value logs, and what is small.
	flushBytes = memTable + memTable/2
	openBytes  = 2*memTable + 4*valueLog + 4<<20

	// writeNeeds is the space, with the reserve, without which nothing is written; freeNeeds is that for giving space
	// back, which takes a little too. The difference is what lets a full disk be emptied.
	writeNeeds = reserveBytes + 32<<20
	freeNeeds  = reserveBytes / 2

	// warnNeeds is the space, with the reserve, below which initiators are warned.
	warnNeeds = reserveBytes + 256<<20

	// spendBelow is the free space below which the reserve is given up for what badger may be going to write; keepFree
	// is left when it is set aside again, for a table that is on its way already.
	spendBelow = reserveBytes / 2
	keepFree   = 8 << 20

	// tidyBytes is what must have been given back since the last time before the file system gets it. It gets pieces of
	// 64 slots, and as many as punchWords at a time: they cannot be written meanwhile.
	tidyBytes  = 16 << 20
	punchWords = 64

	// sumBytes is what of a snapshot is summed up at a time: at 500 MB/s or more, half of token.Step.
	sumBytes = 256 << 10

	// growBytes is what the data file grows by.
	growBytes = 16 << 20

	// logEntryBytes is what an entry of an extent takes in badger's log, with its key, and bitmapEntries what a bitmap
	// and a transaction take, counted as such.
	logEntryBytes = 96
	bitmapEntries = 8

	// verifyMost is the size up to which every byte of a database is checked when it is opened: a second a GiB. Of a
	// larger one only the tables' indexes are; blocks are checked when they are read.
	verifyMost = 4 << 30

	// maxName bounds the name of a unit, in bytes.
	maxName = 64

	// maxKept bounds what is kept under a name for a unit, in bytes, where a snapshot brings it.
	maxKept = 64 << 10

	// maxSize bounds a unit, in bytes: what its bitmaps would take of memory if it were full is 1/32768 of it.
	maxSize = 64 << 40

	// version is the number of the layout of keys and values that this package reads and writes.
	version = 2

	// magic tells badger that a database is this package's.
	magic = 0x5401
)
