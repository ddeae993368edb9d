package nbd

import (
	"encoding/binary"

	"minisrp/scsi/disk"
)

// request is a request header.
type request struct {
	flags   uint16
	cmd     uint16
	cookie  uint64
	offset  uint64
	length  uint64 // of what the request is about
	payload uint64 // bytes that follow the header
}

// decodeRequest decodes the header at the start of b, which is of the style's size or longer. It reports false when
// the magic number is wrong.
func decodeRequest(b []byte, y style) (r request, ok bool) {
	b = b[:y.requestSize()]
	r = request{
		flags:  binary.BigEndian.Uint16(b[4:]),
		cmd:    binary.BigEndian.Uint16(b[6:]),
		cookie: binary.BigEndian.Uint64(b[8:]),
		offset: binary.BigEndian.Uint64(b[16:]),
	}
	magic := binary.BigEndian.Uint32(b)
	if y == styleExtended {
		r.length = binary.BigEndian.Uint64(b[24:])
		// A write has a payload also when a client does not say so: QEMU's, up to version 10 at least.
		if r.flags&cfPayloadLen != 0 || r.cmd == cmdWrite {
			r.payload = r.length
		}
		return r, magic == magicExtRequest
	}
	r.length = uint64(binary.BigEndian.Uint32(b[24:]))
	if r.cmd == cmdWrite {
		r.payload = r.length
	}
	return r, magic == magicRequest
}

// terms are what a client has been told, and so what it may ask for.
type terms struct {
	info    Info
	style   style
	context bool // contextName was selected for the export
}

// flags returns the transmission flags. Each is set only if the server will do what it says.
func (t *terms) flags() uint16 {
	i := &t.info
	f := uint16(tfHasFlags | tfFlush | tfCanMultiConn)
	if t.style != styleSimple {
		f |= tfDF // a read with it is answered by one chunk
	}
	if i.Rotational {
		f |= tfRotational
	}
	if i.CanCache {
		f |= tfCache
	}
	if i.ReadOnly {
		return f | tfReadOnly
	}
	if i.CanFUA {
		f |= tfFUA
	}
	if i.CanUnmap {
		f |= tfTrim
	}
	if i.CanWriteZeroes {
		f |= tfWriteZeroes | tfFastZero
	}
	return f
}

// offers reports whether the client was told of all these transmission flags.
func (t *terms) offers(f uint16) bool { return t.flags()&f == f }

// vet checks a request against the terms.
func (t *terms) vet(r *request) result {
	allowed := uint16(0)
	if t.offers(tfFUA) {
		allowed |= cfFUA // on every command, says the protocol
	}
	if t.style == styleExtended {
		if r.cmd != cmdWrite && r.flags&cfPayloadLen != 0 {
			return resNoPayload
		}
		allowed |= cfPayloadLen
	}
	switch r.cmd {
	case cmdFlush:
		if r.flags&^allowed != 0 {
			return resFlags
		}
		if r.offset != 0 || r.length != 0 {
			return resFlushArgs
		}
		return resOK
	case cmdRead:
		if t.offers(tfDF) {
			allowed |= cfDF
		}
	case cmdWrite, cmdTrim, cmdWriteZeroes:
		switch {
		case t.info.ReadOnly:
			return resReadOnly
		case r.cmd == cmdTrim && !t.offers(tfTrim), r.cmd == cmdWriteZeroes && !t.offers(tfWriteZeroes):
			return resCommand
		case r.cmd == cmdWriteZeroes:
			allowed |= cfNoHole | cfFastZero
		}
	case cmdCache:
		if !t.offers(tfCache) {
			return resCommand
		}
	case cmdBlockStatus:
		if !t.context {
			return resContext
		}
		allowed |= cfReqOne
	case cmdResize:
		return resResize
	default:
		return resCommand
	}
	if r.flags&^allowed != 0 {
		return resFlags
	}
	return t.vetRange(r)
}

// vetRange checks where a request wants to go.
func (t *terms) vetRange(r *request) result {
	mask := uint64(t.info.LogicalBlock) - 1
	switch {
	case r.length == 0:
		return resZero
	case r.cmd == cmdRead && r.length > MaxRequest:
		return resTooLong
	case r.offset > t.info.Size || r.length > t.info.Size-r.offset:
		if r.cmd == cmdWrite || r.cmd == cmdWriteZeroes {
			return resNoSpace
		}
		return resRange
	case r.cmd == cmdBlockStatus:
		// The length is a hint, and the longest that 32 bits can say is no multiple of anything.
		r.length &^= mask
		if r.offset&mask != 0 || r.length == 0 {
			return resAlign
		}
	case (r.offset|r.length)&mask != 0:
		return resAlign
	}
	return resOK
}

// opOf translates commands that vet has let pass.
var opOf = [...]disk.Op{
	cmdRead: disk.Read, cmdWrite: disk.Write, cmdFlush: disk.Flush, cmdTrim: disk.Unmap, cmdCache: disk.Prefetch,
	cmdWriteZeroes: disk.WriteZeroes, cmdBlockStatus: disk.Status,
}
