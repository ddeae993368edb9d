package nbd

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"minisrp/scsi/disk"
)

var (
	// ErrClosed is returned by what is called after Shutdown.
	ErrClosed = errors.New("nbd server closed")

	// ErrMemory means that Config.MemoryLimit does not leave room for one more
	// connection: raise it, or close connections.
	ErrMemory = errors.New("memory limit reached")

	// ErrClientMemory means that Config.ClientMemory does not leave room for one
	// more connection of the client, or for what it asks for.
	ErrClientMemory = errors.New("memory limit of the client reached")

	// errStalled ends a connection that announced a long write and does not send it.
	errStalled = errors.New("client does not send what it announced")

	// errNotTaken ends a connection that is to end, whose client does not take its
	// replies.
	errNotTaken = errors.New("client does not take its replies")

	// errAborted ends a negotiation that the client gave up in good order.
	errAborted = errors.New("client ended the negotiation")
)

// handshakeError is why there is no TLS connection.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// ProtocolError says where a client left the protocol. Its connection is closed;
// nothing else is touched.
type ProtocolError struct {
	What  string // what was wrong
	Value uint64 // what the client sent
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("client broke the protocol: %s (%#x)", e.What, e.Value)
}

// result is an error number with the text that goes with it in an error chunk.
type result struct {
	errno errno
	text  string // up to maxText bytes
}

// Results that the server finds itself.
var (
	resOK        = result{}
	resReadOnly  = result{ePERM, "export is read-only"}
	resAlign     = result{eINVAL, "not a multiple of the block size"}
	resRange     = result{eINVAL, "beyond the end of the export"}
	resNoSpace   = result{eNOSPC, "write beyond the end of the export"}
	resTooLong   = result{eINVAL, "longer than the maximum block size"}
	resZero      = result{eINVAL, "length is zero"}
	resFlags     = result{eINVAL, "flag was not negotiated"}
	resFlushArgs = result{eINVAL, "flush takes no offset and no length"}
	resCommand   = result{eINVAL, "command was not negotiated"}
	resMemory    = result{eNOMEM, "server memory limit reached"}
	resNoPayload = result{eINVAL, "command takes no payload"}
	resContext   = result{eINVAL, "no metadata context was selected"}
	resResize    = result{ePERM, "the disk has the size that its target gives"}
)

// translation is the one table from what a disk reports to what a client sees.
// The first line that matches counts; what is in none is resOther.
var translation = []struct {
	err error
	res result
}{
	{disk.ErrReadOnly, result{ePERM, "disk is write-protected"}},
	{disk.ErrReserved, result{ePERM, "disk is reserved by another initiator"}},
	{disk.ErrNoSpace, result{eNOSPC, "no space left on the disk"}},
	{disk.ErrRange, result{eINVAL, "beyond the end of the disk"}},
	{disk.ErrAlignment, result{eINVAL, "not a multiple of the block size"}},
	{disk.ErrInvalid, result{eINVAL, "disk refused the request"}},
	{disk.ErrClosed, result{eSHUTDOWN, "disk is being shut down"}},
	// An unsupported flush is not to be taken for one that is not needed: it is an error like these.
	{disk.ErrSlow, result{eNOTSUP, "zeroing is no faster than writing"}},
	{disk.ErrUnsupported, result{eIO, "disk has a cache that cannot be flushed"}},
	{disk.ErrLostWrites, result{eIO, "disk has lost acknowledged writes"}},
	{disk.ErrMedium, result{eIO, "medium error"}},
	{disk.ErrGone, result{eIO, "disk is gone"}},
	{disk.ErrChanged, result{eIO, "another disk is in its place"}},
	{disk.ErrNoMedium, result{eIO, "no medium in the drive"}},
	{disk.ErrNotReady, result{eIO, "disk is not ready"}},
	{disk.ErrBusy, result{eIO, "disk is busy"}},
	{disk.ErrTimeout, result{eIO, "disk does not answer"}},

	{unix.EROFS, result{ePERM, "disk is write-protected"}},
	{unix.EPERM, result{ePERM, "disk does not permit it"}},
	{unix.ENOSPC, result{eNOSPC, "no space left on the disk"}},
	{unix.EINVAL, result{eINVAL, "disk refused the request"}},
	{unix.EOPNOTSUPP, result{eNOTSUP, "disk does not support it"}},
	{unix.ENOMEM, result{eNOMEM, "out of memory"}},
	{unix.ESHUTDOWN, result{eSHUTDOWN, "disk is being shut down"}},
}

var resShrunk = result{eNOSPC, "disk has become smaller"}

var resOther = result{eIO, "input/output error"}

// translate looks an error of the disk up, which a command has met.
func translate(err error, cmd uint16) result {
	if err == nil {
		return resOK
	}
	if (cmd == cmdWrite || cmd == cmdWriteZeroes) && errors.Is(err, disk.ErrRange) {
		return resShrunk // a write beyond the end has an error of its own
	}
	for i := range translation {
		if errors.Is(err, translation[i].err) {
			return translation[i].res
		}
	}
	return resOther
}

// gone reports whether an error only says that the peer is no longer there.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}
