package nbd

import "encoding/binary"

// Numbers of the protocol, by the names that its document gives them.
const (
	magicInit       = 0x4e42444d41474943 // "NBDMAGIC"
	magicOption     = 0x49484156454f5054 // "IHAVEOPT"
	magicOptReply   = 0x0003e889045565a9
	magicRequest    = 0x25609513
	magicSimple     = 0x67446698
	magicStructured = 0x668e33ef
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
)

// Replies to options.
const (
	repAck    = 1
	repServer = 2
	repInfo   = 3

	repErrUnsup    = 1<<31 + 1
	repErrPolicy   = 1<<31 + 2
	repErrInvalid  = 1<<31 + 3
	repErrUnknown  = 1<<31 + 6
	repErrShutdown = 1<<31 + 7
	repErrTooBig   = 1<<31 + 9
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
)

// Commands.
const (
	cmdRead        = 0
	cmdWrite       = 1
	cmdDisc        = 2
	cmdFlush       = 3
	cmdTrim        = 4
	cmdWriteZeroes = 6
)

// Command flags.
const (
	cfFUA    = 1 << 0
	cfNoHole = 1 << 1
	cfDF     = 1 << 2
)

// Structured reply chunks.
const (
	chunkFlagDone   = 1 << 0
	chunkOffsetData = 1
	chunkError      = 1<<15 + 1
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
	simpleSize     = 16
	structuredSize = 20 // the chunk header
	offsetDataSize = structuredSize + 8
	errorChunkSize = structuredSize + 6 // followed by the text
	optHeaderSize  = 16
	optReplySize   = 20
)

// request is a request header.
type request struct {
	flags  uint16
	cmd    uint16
	cookie uint64
	offset uint64
	length uint32
}

// decodeRequest decodes the header at the start of b, which holds requestSize
// bytes or more. It reports false when the magic number is wrong.
func decodeRequest(b []byte) (r request, ok bool) {
	b = b[:requestSize]
	r = request{
		flags:  binary.BigEndian.Uint16(b[4:]),
		cmd:    binary.BigEndian.Uint16(b[6:]),
		cookie: binary.BigEndian.Uint64(b[8:]),
		offset: binary.BigEndian.Uint64(b[16:]),
		length: binary.BigEndian.Uint32(b[24:]),
	}
	return r, binary.BigEndian.Uint32(b) == magicRequest
}

// putSimple encodes a simple reply header.
func putSimple(b []byte, e errno, cookie uint64) int {
	b = b[:simpleSize]
	binary.BigEndian.PutUint32(b, magicSimple)
	binary.BigEndian.PutUint32(b[4:], uint32(e))
	binary.BigEndian.PutUint64(b[8:], cookie)
	return simpleSize
}

func putChunk(b []byte, flags, kind uint16, cookie uint64, length uint32) {
	b = b[:structuredSize]
	binary.BigEndian.PutUint32(b, magicStructured)
	binary.BigEndian.PutUint16(b[4:], flags)
	binary.BigEndian.PutUint16(b[6:], kind)
	binary.BigEndian.PutUint64(b[8:], cookie)
	binary.BigEndian.PutUint32(b[16:], length)
}

// putOffsetData encodes the head of the one chunk that answers a read; length
// bytes of data follow it.
func putOffsetData(b []byte, cookie, offset uint64, length uint32) int {
	putChunk(b, chunkFlagDone, chunkOffsetData, cookie, 8+length)
	binary.BigEndian.PutUint64(b[structuredSize:], offset)
	return offsetDataSize
}

// putErrorChunk encodes an error chunk with its text.
func putErrorChunk(b []byte, e errno, cookie uint64, text string) int {
	putChunk(b, chunkFlagDone, chunkError, cookie, uint32(6+len(text)))
	binary.BigEndian.PutUint32(b[structuredSize:], uint32(e))
	binary.BigEndian.PutUint16(b[structuredSize+4:], uint16(len(text)))
	return errorChunkSize + copy(b[errorChunkSize:], text)
}
