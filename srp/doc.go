// Package srp is the SCSI RDMA Protocol: what travels between an initiator port and a target port, and the rules by
// which it does. It must not know SCSI commands beyond the bytes of a CDB, nor block devices, nor how an HCA is
// reached.
//
// # Where is what
//
//   - iu_*.go: the information units, each a struct with Encode and Decode. databuf.go and desc.go: the data buffer
//     descriptors of an SRP_CMD. opcode.go: types and lengths, and Peek, which says what was received.
//   - options*.go: login strings, as Linux's ib_srp takes them: ParseTarget, and what a session is to be by them.
//   - portid.go: port identifiers. reject.go: login reject reasons, with advice for users. errors.go: FormatError.
//
// A sender fills in a struct and encodes it into memory of its own, as a rule a send buffer in an arena; a receiver
// looks at Peek, and decodes from the receive buffer. Slices in a decoded struct are views of that buffer: they are
// good until it is posted again.
//
// Numbers are big-endian. A tag is eight opaque bytes, kept here as the big-endian number that they are; Linux makes
// its own in host byte order, and so they look turned round. Fields that this module does not use are kept all the
// same; reserved bytes are ignored when read and zero when written.
//
// # Ownership
//
// An IU struct belongs to one goroutine at a time, as does the memory that it is encoded into or decoded from. Nothing
// in the package is shared or changes after start.
//
// # Levels
//
// Encode, Decode and everything else on information units compute: they may be called at Dispatch, and neither block
// nor allocate, not even for an error. The methods String and Error, Advice, the text forms of PortID and what has to do
// with login strings allocate.
//
// # State machine
//
// Information units have no state.
//
// # Errors
//
// *FormatError, for which errors.Is(err, ErrFormat) holds: which field of which IU is wrong, with what was got and
// what was wanted. It lies in the struct that was decoded, so copy it to keep it. A decoder sets the fields before the
// one at fault, tag included, so that a bad request can be answered and a bad response ends its command.
// *OptionError: which option of a login string is wrong, and what would be right.
//
// # Testing
//
// Every information unit that Linux 6.12's ib_srp and ib_srpt exchange in testdata/captures (login over IPv4 and IPv6,
// rejects, direct, indirect and immediate data, task management, sense data, losses and reconnects) decodes and
// encodes to the same bytes. Decoders are fuzzed with a round trip: what decodes, encodes, and decodes to the same.
//
// # Clauses
//
// T10 SRP r16a (ANSI INCITS 365) clauses 6.2 to 6.13 and annex B; immediate data as in SRP-2. Where implementations
// differ: ADDITIONAL CDB LENGTH is read as Linux reads it (bytes, two low bits reserved; illumos differs, so send it no
// CDB of more than 16 bytes); SRP_T_LOGOUT reasons of 5 and above have no agreed meaning.
package srp
