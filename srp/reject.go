package srp

import "fmt"

// RejectReason is the reason code of SRP_LOGIN_REJ (SRP r16a clause 6.4).
type RejectReason uint32

const (
	RejectUnableEstablish      RejectReason = 0x00010000 // unable to establish RDMA channel, no reason specified
	RejectInsufficientResource RejectReason = 0x00010001 // insufficient RDMA channel resources
	RejectIUTooLarge           RejectReason = 0x00010002 // requested maximum initiator to target IU length too large
	RejectUnableAssociate      RejectReason = 0x00010003 // unable to associate RDMA channel with specified I_T nexus
	RejectUnsupportedFormat    RejectReason = 0x00010004 // a requested data buffer descriptor format is unsupported
	RejectNoMultiChannel       RejectReason = 0x00010005 // no support for multiple RDMA channels per I_T nexus
	RejectChannelLimit         RejectReason = 0x00010006 // RDMA channel limit reached for this initiator
)

// String returns the number and the standard's words for it.
func (r RejectReason) String() string {
	words := "reason unknown"
	switch r {
	case RejectUnableEstablish:
		words = "unable to establish RDMA channel, no reason specified"
	case RejectInsufficientResource:
		words = "insufficient RDMA channel resources"
	case RejectIUTooLarge:
		words = "requested maximum initiator to target IU length too large"
	case RejectUnableAssociate:
		words = "unable to associate RDMA channel with specified I_T nexus"
	case RejectUnsupportedFormat:
		words = "requested data buffer descriptor format not supported"
	case RejectNoMultiChannel:
		words = "target port does not support multiple RDMA channels per I_T nexus"
	case RejectChannelLimit:
		words = "RDMA channel limit reached for this initiator"
	}
	return fmt.Sprintf("0x%08x: %s", uint32(r), words)
}

// Advice returns what a user can do about it: what the targets in use are known to mean by the reason, and which
// option or target setting changes it.
func (r RejectReason) Advice() string {
	switch r {
	case RejectUnableEstablish:
		return "the target gives no reason (Solaris targets: a request for IUs shorter than 64 bytes); " +
			"look in the target's log"
	case RejectInsufficientResource:
		return "the target port is disabled or not ready, or its memory or connections are used up; " +
			"enable the port, lower ch_count, or try again later"
	case RejectIUTooLarge:
		return "ask for shorter IUs: lower max_it_iu_size, cmd_sg_entries or max_imm_data, " +
			"or raise the target's limit (Linux targets: ib_srpt srp_max_req_size)"
	case RejectUnableAssociate:
		return "the target has no such port, it is offline, or it does not let this initiator in: compare id_ext and ioc_guid " +
			"with the target's, and see whether an access list of it names this initiator"
	case RejectUnsupportedFormat:
		return "the target cannot take the descriptor formats asked for; log in with those it names in its answer"
	case RejectNoMultiChannel:
		return "log in with one channel (ch_count=1)"
	case RejectChannelLimit:
		return "lower ch_count or end other sessions of this initiator; Linux targets mean by it that no access " +
			"control list names this initiator: add one for its port ID, GUID or IP address, as the target spells it"
	}
	return "look in the target's log"
}
