package scsi

// The appends of encoding/binary are not for Dispatch, where growing a slice is not allowed. These leave that to
// the caller in sight of its slice: with enough capacity nothing grows.

func appendUint16(b []byte, v uint16) []byte { return append(b, byte(v>>8), byte(v)) }

func appendUint32(b []byte, v uint32) []byte {
	return append(b, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

func appendUint64(b []byte, v uint64) []byte {
	return appendUint32(appendUint32(b, uint32(v>>32)), uint32(v))
}
