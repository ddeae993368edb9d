package srp

import (
	"encoding/binary"
	"fmt"
)

// Opcode is the TYPE code in byte 0 of every information unit. In the 56-byte login
// request of RDMA CM it stands in byte 11.
type Opcode uint8

// The information units. Bit 7 is set in what a target port sends, bit 6 in what answers a request.
const (
	OpLoginReq       Opcode = 0x00 // SRP_LOGIN_REQ, initiator to target, in the CM REQ's private data
	OpTaskManagement Opcode = 0x01 // SRP_TSK_MGMT, initiator to target
	OpCommand        Opcode = 0x02 // SRP_CMD, initiator to target
	OpILogout        Opcode = 0x03 // SRP_I_LOGOUT, initiator to target
	OpCredRsp        Opcode = 0x41 // SRP_CRED_RSP, initiator to target
	OpAERRsp         Opcode = 0x42 // SRP_AER_RSP, initiator to target
	OpTLogout        Opcode = 0x80 // SRP_T_LOGOUT, target to initiator
	OpCredReq        Opcode = 0x81 // SRP_CRED_REQ, target to initiator
	OpAERReq         Opcode = 0x82 // SRP_AER_REQ, target to initiator
	OpLoginRsp       Opcode = 0xc0 // SRP_LOGIN_RSP, target to initiator, in the CM REP's private data
	OpResponse       Opcode = 0xc1 // SRP_RSP, target to initiator
	OpLoginRej       Opcode = 0xc2 // SRP_LOGIN_REJ, target to initiator, in the CM REJ's private data
)

// Lengths in bytes: the whole of the information units of fixed length, the fixed part of the others.
const (
	HeaderLen         = 16 // opcode and tag, which every IU has at the same place
	LoginReqLen       = 64 // as in IB CM private data
	LoginReqRDMACMLen = 56 // as in RDMA CM private data, whose own header leaves no room for 64
	LoginRspLen       = 52
	LoginRejLen       = 32
	LogoutLen         = 16 // SRP_I_LOGOUT and SRP_T_LOGOUT
	TaskManagementLen = 48
	CommandLen        = 48 // without additional CDB, descriptors, immediate data
	ResponseLen       = 36 // without response data, sense data
	CredLen           = 16 // SRP_CRED_REQ and SRP_CRED_RSP
	AERReqLen         = 36 // without sense data
	AERRspLen         = 16
)

// String returns the standard's name of the information unit.
func (o Opcode) String() string {
	switch o {
	case OpLoginReq:
		return "SRP_LOGIN_REQ"
	case OpTaskManagement:
		return "SRP_TSK_MGMT"
	case OpCommand:
		return "SRP_CMD"
	case OpILogout:
		return "SRP_I_LOGOUT"
	case OpCredRsp:
		return "SRP_CRED_RSP"
	case OpAERRsp:
		return "SRP_AER_RSP"
	case OpTLogout:
		return "SRP_T_LOGOUT"
	case OpCredReq:
		return "SRP_CRED_REQ"
	case OpAERReq:
		return "SRP_AER_REQ"
	case OpLoginRsp:
		return "SRP_LOGIN_RSP"
	case OpResponse:
		return "SRP_RSP"
	case OpLoginRej:
		return "SRP_LOGIN_REJ"
	}
	return fmt.Sprintf("unknown IU type 0x%02x", uint8(o))
}

// Peek returns the opcode and tag of a received information unit, by which its receiver chooses the decoder. ok is
// false if b is shorter than HeaderLen, the length of the shortest IU. The opcode may be one that SRP does not
// define. Not for the login request of RDMA CM, which is laid out differently.
func Peek(b []byte) (op Opcode, tag uint64, ok bool) {
	if len(b) < HeaderLen {
		return 0, 0, false
	}
	return Opcode(b[0]), binary.BigEndian.Uint64(b[8:]), true
}

// SolicitedNotification is byte 1 of the information units that may ask for, or carry, a solicited event
// (SRP r16a tables 16, 18, 20, 22). Linux never sets it.
type SolicitedNotification uint8

const (
	// Solicited, SOLNT, in SRP_RSP, SRP_T_LOGOUT, SRP_CRED_REQ and SRP_AER_REQ: this IU is a solicited event.
	Solicited SolicitedNotification = 0x01
	// NotifySuccess, SCSOLNT, in SRP_CMD and SRP_TSK_MGMT: answer with a solicited event when it succeeds.
	NotifySuccess SolicitedNotification = 0x02
	// NotifyFailure, UCSOLNT, in SRP_CMD and SRP_TSK_MGMT: answer with a solicited event when it does not.
	NotifyFailure SolicitedNotification = 0x04
)
