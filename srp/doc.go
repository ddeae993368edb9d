// Package srp is the SCSI RDMA Protocol: what travels between an initiator port and a target port, and the rules by
// which it does. It must not know SCSI commands beyond the bytes of a CDB, nor block devices, nor how an HCA is
// reached.
//
// # Where is what
//
//   - iu_*.go: the information units, each a struct with Encode and Decode. databuf.go and desc.go: the data buffer
//     descriptors of an SRP_CMD. opcode.go: types and lengths, and Peek, which says what was received.
//   - options*.go: login strings, as Linux's ib_srp takes them: ParseTarget, and what a session is to be by them.
//   - session.go, config.go, login*.go, logout.go: Session, an I_T nexus of one or more channels, and how it is come to.
//   - channel*.go: Channel, a QP with the rules of SRP. request.go: what it is given. slot.go, credit.go, resources.go:
//     what it is made of.
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
// An IU struct belongs to one goroutine at a time, as does the memory that it is encoded into or decoded from.
//
// A Session belongs to whoever called Login, who calls Logout. Each of its channels belongs to one processor: its
// methods are called by frames that own that, and its callbacks come on it. A Request is its caller's, and the channel's
// from Start until Done. The package has no goroutines.
//
// # Protection
//
// A request ends only when nothing can reach its memory any more. Under ProtectIO each piece of it has a memory window
// of the channel's QP, with the right of its direction alone, that is invalidated first; immediate data has been sent;
// when a channel ends, its QP is in Error and everything posted has come back. What the target does late meets a key
// that is none, or a tag whose generation has passed: it is counted, its credit taken, and nothing else happens.
//
// # Levels
//
// Encode, Decode and everything else on information units compute: they may be called at Dispatch, and neither block
// nor allocate, not even for an error. A channel's methods are Dispatch, and from Start to Done nothing is allocated.
// Login and Logout are Passive. The methods String and Error, Advice, the text forms of PortID and what has to do
// with login strings allocate.
//
// # State machine
//
// Information units have no state. A channel's is in channel.go (channelState), a command's in slot.go (slot).
//
// # Errors
//
// *FormatError, for which errors.Is(err, ErrFormat) holds: which field of which IU is wrong, with what was got and
// what was wanted. It lies in the struct that was decoded, so copy it to keep it. A decoder sets the fields before the
// one at fault, tag included, so that a bad request can be answered and a bad response ends its command.
//
// *RejectError, ErrLoginResponse and ErrInvalidConfig come from Login; ErrBusy, ErrDown and others of channel_event.go,
// which callers compare directly, from a channel. *DownError says why a channel has ended.
// *OptionError: which option of a login string is wrong, and what would be right.
//
// # Testing
//
// Every information unit that Linux 6.12's ib_srp and ib_srpt exchange in testdata/captures (login over IPv4 and IPv6,
// rejects, direct, indirect and immediate data, task management, sense data, losses and reconnects) decodes and
// encodes to the same bytes. A channel makes the login and the commands that ib_srp made there, and takes the responses
// that it got. It is held against a model (model_test.go) over random interleavings with a target whose every step the
// test makes. Decoders are fuzzed with a round trip: what decodes, encodes, and decodes to the same.
//
// # Clauses
//
// T10 SRP r16a (ANSI INCITS 365) clauses 5.3 and 6.2 to 6.13, and annex B; immediate data as in SRP-2. Where implementations
// differ: ADDITIONAL CDB LENGTH is read as Linux reads it (bytes, two low bits reserved; illumos differs, so send it no
// CDB of more than 16 bytes); SRP_T_LOGOUT reasons of 5 and above have no agreed meaning.
package srp
