package srp

import "time"

const (
	// MaxChannels bounds SessionConfig.Channels. The tag has 16 bits for the channel; each wants a CPU for itself, and
	// targets run out of connections.
	MaxChannels = 64

	// DefaultQueueSize is Linux's queue_size, in commands.
	DefaultQueueSize = 62
	// MaxQueueSize bounds SessionConfig.QueueSize. The tag has 16 bits for the slot; targets grant a few hundred.
	MaxQueueSize = 4096

	// DefaultDescriptorsInIU is Linux's cmd_sg_entries.
	DefaultDescriptorsInIU = 12
	// MaxSegmentsLimit bounds SessionConfig.MaxSegments: Linux's largest sg_tablesize.
	MaxSegmentsLimit = 2048

	// DefaultImmediateData is Linux's max_imm_data, in bytes.
	DefaultImmediateData = 8192
	// MaxImmediateData bounds the option imm_data, in bytes: every receive of the target has to be as long.
	MaxImmediateData = 64 << 10

	// DefaultMaxSectors is how many 512-byte sectors a command transfers at most in Linux, where max_sect is not given.
	DefaultMaxSectors = 1024
	// DefaultRetryCount is Linux's tl_retry_count.
	DefaultRetryCount = 7

	// maxBounce bounds SessionConfig.BounceSize, in bytes.
	maxBounce = 16 << 20

	// DefaultBounceSize is the data a command can have under ProtectBounce, in bytes. Each slot has it twice.
	DefaultBounceSize = 128 << 10

	// DefaultLoginTimeout covers a few attempts at a target that answers slowly.
	DefaultLoginTimeout = 30 * time.Second
	// DefaultLogoutTimeout is how long Logout waits for what is outstanding.
	DefaultLogoutTimeout = 5 * time.Second

	// taskSlots is how many task management functions of a channel are with the target at a time; more wait.
	taskSlots = 8

	// targetRequests is how many receives are kept for what the target sends of itself. By the protocol it has one
	// request at a time; a logout, and a response to a command that was given up, may come on top.
	targetRequests = 8

	// pollBatch is how many completions are taken at a time, and so how many invalidations and receives are posted
	// together. A WC is 32 bytes: a batch stays in the first-level cache.
	pollBatch = 32
	// batchesARun is how many batches one notification handles before other work of the processor gets its turn.
	batchesARun = 8

	// minIULen is the shortest limit for IUs to the target that SRP allows: a command with one direct descriptor.
	minIULen = 64
	// maxTIIULen is the longest receive that a target can demand. Responses are 36 bytes and sense data.
	maxTIIULen = 64 << 10

	// minRecvLen is the shortest receive that is posted, in bytes: a response with the most sense data that any known
	// target sends (ib_srpt's srp_max_rsp_size goes to 1024).
	minRecvLen = 1024

	// readsAnswered is how many RDMA READs of the target are answered at a time, as far as the device can; ib_srpt has
	// 4 of a write's pieces under way.
	readsAnswered = 16
	// rnrForEver never gives up when the target has no receive: it has one for each credit.
	rnrForEver = 7

	// immediateOffset is where immediate data begins: after 48 bytes of command, 16 of additional CDB, and the 4 bytes
	// of its descriptor; the same as Linux's.
	immediateOffset = CommandLen + 16 + immediateLen

	// staleRetries is how often a login is tried again with a new QP when the target takes the connection for an old
	// one.
	staleRetries = 3
)
