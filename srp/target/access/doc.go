// Package access names initiators: by port identifier, by GUID, or by where they log in from. It must not know what
// they may do.
//
// A Match has a text form, in the spellings that Linux's target takes for an access control list:
//
//	0x00000000000000000002c90300000002   an initiator port identifier; also without 0x
//	0002:c903:0000:0002                  a GUID: the identifier's second half, or that of the source GID
//	192.0.2.20                           an address, IPv4 or IPv6
//	192.0.2.0/24                         all addresses with a prefix
//	*                                    everybody
//
// An identifier is what the initiator says of itself. It keeps initiators apart that mean well; it proves nothing. So
// does an address, as far as the network does not check it.
//
// # Levels
//
// Match.Matches computes and allocates nothing; it may be called at Dispatch.
//
// # Errors
//
// ErrMatch, with what is right in its text.
//
// # Clauses
//
// SRP r16a annex B (port identifiers). An identifier of r10 has its GUID in front: name it in full.
package access
