package nbd

// Numbers of the protocol, by the names that its document gives them.
const (
	magicInit       = 0x4e42444d41474943 // "NBDMAGIC"
	magicOption     = 0x49484156454f5054 // "IHAVEOPT"
	magicOptReply   = 0x0003e889045565a9
	magicRequest    = 0x25609513
	magicSimple     = 0x67446698
	magicStructured = 0x668e33ef
	magicExtRequest = 0x21e41c71
	magicExtended   = 0x6e8a278c
)

// Handshake flags, both directions.
const (
	flagFixedNewstyle = 1 << 0
	flagNoZeroes      = 1 << 1
)

// Options of the negotiation.
const (
	optExportName      = 1
	optAbort           = 2
	optList            = 3
	optStartTLS        = 5
	optInfo            = 6
	optGo              = 7
	optStructuredReply = 8
	optListMetaContext = 9
	optSetMetaContext  = 10
	optExtendedHeaders = 11
)

// Replies to options.
const (
	repAck         = 1
	repServer      = 2
	repInfo        = 3
	repMetaContext = 4

	repErrUnsup     = 1<<31 + 1
	repErrPolicy    = 1<<31 + 2
	repErrInvalid   = 1<<31 + 3
	repErrTLS       = 1<<31 + 5
	repErrUnknown   = 1<<31 + 6
	repErrShutdown  = 1<<31 + 7
	repErrTooBig    = 1<<31 + 9
	repErrExtHeader = 1<<31 + 10
)

// Information types of NBD_OPT_INFO and NBD_OPT_GO.
const (
	infoExport      = 0
	infoName        = 1
	infoDescription = 2
	infoBlockSize   = 3
)

// Transmission flags.
const (
	tfHasFlags     = 1 << 0
	tfReadOnly     = 1 << 1
	tfFlush        = 1 << 2
	tfFUA          = 1 << 3
	tfRotational   = 1 << 4
	tfTrim         = 1 << 5
	tfWriteZeroes  = 1 << 6
	tfDF           = 1 << 7
	tfCanMultiConn = 1 << 8
	tfCache        = 1 << 10
	tfFastZero     = 1 << 11
)

// Commands.
const (
	cmdRead        = 0
	cmdWrite       = 1
	cmdDisc        = 2
	cmdFlush       = 3
	cmdTrim        = 4
	cmdCache       = 5
	cmdWriteZeroes = 6
	cmdBlockStatus = 7
	cmdResize      = 8
)

// Command flags.
const (
	cfFUA        = 1 << 0
	cfNoHole     = 1 << 1
	cfDF         = 1 << 2
	cfReqOne     = 1 << 3
	cfFastZero   = 1 << 4
	cfPayloadLen = 1 << 5 // with extended headers only
)

// Chunks of structured and extended replies.
const (
	chunkFlagDone    = 1 << 0
	chunkNone        = 0
	chunkOffsetData  = 1
	chunkStatus      = 5
	chunkStatusExt   = 6
	chunkError       = 1<<15 + 1
	contextID        = 1 // of contextName, in chunkStatus and chunkStatusExt
	contextName      = "base:allocation"
	contextNamespace = "base:"
)

// States of base:allocation.
const (
	stateHole = 1 << 0
	stateZero = 1 << 1
)

// errno is an error number as it stands on the wire.
type errno uint32

const (
	eOK       errno = 0
	ePERM     errno = 1
	eIO       errno = 5
	eNOMEM    errno = 12
	eINVAL    errno = 22
	eNOSPC    errno = 28
	eOVERFLOW errno = 75
	eNOTSUP   errno = 95
	eSHUTDOWN errno = 108
)

// Sizes on the wire.
const (
	requestSize    = 28
	extRequestSize = 32
	simpleSize     = 16
	structuredSize = 20 // the chunk header
	extendedSize   = 32 // likewise
	optHeaderSize  = 16
	optReplySize   = 20
)

// style is the form of requests and replies that was negotiated.
type style uint8

const (
	styleSimple     style = iota
	styleStructured       // replies in chunks
	styleExtended         // and lengths of 64 bits in both
)

// requestSize returns the size of a request header.
func (y style) requestSize() int {
	if y == styleExtended {
		return extRequestSize
	}
	return requestSize
}
