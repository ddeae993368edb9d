package target

import (
	"time"

	"minisrp/scsi/lun"
)

const (
	// DefaultCredits is the request limit of a channel: as many requests as it may have outstanding. It is what Linux
	// and Solaris targets grant. 1 to MaxCredits.
	DefaultCredits = 128
	MaxCredits     = 4096

	// DefaultMaxIU is the longest information unit that is taken, in bytes: room for immediate data of 8 KiB as Linux
	// sends it, and what Linux targets take. MinIU (the shortest that SRP allows an initiator to ask for) to 64 KiB.
	DefaultMaxIU = 8276
	MinIU        = 64
	maxMaxIU     = 64 << 10

	// winOFEDIU is what the initiator of WinOFED asks for, room for 257 descriptors. It counts them in 8 bits, so that
	// with 256 and more the count wraps. It keeps to what the answer allows: winOFEDAllowed is room for 255.
	winOFEDIU      = 4196
	winOFEDAllowed = 4163

	// maxRspLen is the longest information unit that is sent, in bytes: a response with the longest sense data takes
	// 84. Initiators post receives of this size.
	maxRspLen = 128

	// DefaultMaxChannels and DefaultChannelsPerNexus bound the channels of a port, and those of one initiator port.
	// A channel has about 1.5 MiB of memory with the default credits.
	DefaultMaxChannels      = 256
	DefaultChannelsPerNexus = 64

	// DefaultBuffers is the memory for data of units whose store is not memory, for all channels of a port together, in
	// bytes. It keeps 32 transfers of 1 MiB going; more wait for their turn. At least minBuffers: the longest transfer
	// and a descriptor table.
	DefaultBuffers = 32 << 20
	minBuffers     = (maxPieces + 1) * pieceSize
	maxBuffers     = 1 << 36

	// pieceSize is the unit in which that memory is given out, and the longest descriptor table that is read, in
	// bytes: 8,192 descriptors. A transfer takes pieces for its size, or a small cell if it is up to smallSize.
	pieceSize = 128 << 10
	maxPieces = lun.MaxTransfer / pieceSize

	// smallSize is the size of small cells, in bytes: for a block or page, and for all that is not READ or WRITE. There is
	// a small cell for every smallShare*smallSize bytes of pieces.
	smallSize  = lun.MinBuffer
	smallShare = 8

	// pieceStep and smallStep are how many cells are made present at a time, about 1 MiB: a populated page costs some
	// hundred nanoseconds, which the commands of the whole step wait for. bufferTick is how long memory stays that is not
	// needed any more; so long a burst may pause and find it again.
	pieceStep  = 8
	smallStep  = 64
	bufferTick = 10 * time.Second

	// spareReceives is how many receives a channel posts beyond its credits, for what takes none: SRP_I_LOGOUT and
	// answers to requests of the target.
	spareReceives = 8

	// sendsPerCommand is how many work requests the send queue has for each command. Most take one or two; one whose
	// data is in many pieces takes more, and waits when there is no room.
	sendsPerCommand = 4

	// pollBatch is how many completions are taken at a time, and batchesARun how many such batches one notification
	// handles before others get their turn.
	pollBatch   = 32
	batchesARun = 8

	// postBatch is how many work requests are collected before they are posted.
	postBatch = 64

	// rnrForEver never gives up when the initiator has no receive: by the protocol it has one for each credit.
	rnrForEver = 7

	// readsIssued is how many RDMA READs a channel has under way, as far as device and initiator can.
	readsIssued = 16

	// logoutTime is how long a channel that was told to go waits for SRP_T_LOGOUT to be taken by an initiator that may
	// have no receive.
	logoutTime = time.Second
)
