package scsi

// SRPTransportIDLength is the length of a TransportID of SRP, in bytes.
const SRPTransportIDLength = 24

// protocolSRP is the PROTOCOL IDENTIFIER of SRP (SPC-5 7.6.1).
const protocolSRP = 0x4

// AppendSRPTransportID adds the TransportID of an SRP initiator port to b (SPC-5 7.6.4.5).
func AppendSRPTransportID(b []byte, port [16]byte) []byte {
	b = append(b, protocolSRP, 0, 0, 0, 0, 0, 0, 0)
	return append(b, port[:]...)
}

// NextTransportID decodes the TransportID of SRP that b begins with, and returns what is behind it. Errors: ErrShort,
// ErrFormat for one of another protocol or format.
func NextTransportID(b []byte) (port [16]byte, rest []byte, err error) {
	switch {
	case len(b) < SRPTransportIDLength:
		return port, nil, errTransportShort
	case b[0] != protocolSRP: // FORMAT CODE 0 with it
		return port, nil, errTransportFormat
	}
	copy(port[:], b[8:])
	return port, b[SRPTransportIDLength:], nil
}

var (
	errTransportShort  = shortError("TransportID")
	errTransportFormat = formatError("TransportID that is not SRP's")
)
