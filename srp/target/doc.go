// Package target is an SRP target port in software: it takes logins on an HCA, receives SRP information units, moves
// data by RDMA, and lets package lun do what the commands ask for. It must not know what the commands mean.
//
// It is the target that the daemon embeds, and the peer in tests of initiators. It takes what the initiators in the
// field send: direct and indirect buffers, descriptor tables that are partly or wholly in the initiator's memory,
// immediate data, CDBs of up to 16 bytes with additional bytes ignored, one channel or several, both forms of the login,
// and port identifiers of SRP r16a and r10. It asks nothing of them: some know no SRP_CRED_REQ and SRP_AER_REQ.
//
// # Who sees what
//
// Initiators belong to groups (package access says how they are named), and a group shows units at LUNs of its own.
// Who is in no group sees what is attached to the port itself, or is refused if the port is closed. A unit that several
// groups show is one unit: all its initiators share its task set and hear what happens to it.
//
// # Faults
//
// A port goes wrong on purpose as a fault.Layer says: Config.Faults, Port.SetFaults. Port.Do does something to channels
// that are there: takes or gives credits, reports an event, logs an initiator out.
//
// # How data moves
//
//	READ    of memory   RDMA WRITE from the unit's own memory, SEND of the response behind it
//	        else        the store reads into memory of the port, then the same from there
//	WRITE   of memory   RDMA READ into the unit's own memory; nothing is copied
//	        else        RDMA READ into memory of the port, then the store writes from there
//	        immediate   the store takes it out of the receive
//
// That memory, Buffers, is shared by all channels of a port, and by several ports if they are told so. It is bounded: a
// command that finds too little of it waits for its turn, before it has moved a byte. The same goes for room in the send queue, in the middle of a transfer if need be.
//
// # Ownership
//
// A port, its channels, its units and all their tasks belong to one processor; so do the QPs. A channel whose processor
// were another would have to hand over every command and back. Goroutines are those of a dispatch.Worker that builds and
// takes down channels; Port.Close waits for them. A channel is the port's; a command with its buffers the channel's.
//
// # Levels
//
// What handles requests is Dispatch and allocates nothing. A login allocates. What takes a context is Passive.
//
// # State machine
//
// The channel's stands at channelState, in channel.go; a command's way at command, in command.go.
//
// # What is promised
//
//   - Credits: a channel has a receive posted for each credit, and more for what takes none. A receive is posted again
//     before the response that gives its credit back. The credit of a command that ends without a response, since its
//     initiator aborted it, comes with the next response; with that to the abort at the latest.
//   - A task management function is answered when none of the tasks it means moves a byte any more.
//   - A login for a single channel ends the initiator's other channels, and is answered when the last of their
//     commands has ended: nothing that was sent before it has an effect after it.
//   - What an initiator sends is checked against the bytes that came. A command with descriptors that cannot be right
//     is answered with CHECK CONDITION; an information unit that cannot be answered ends the channel with SRP_T_LOGOUT.
//
// # Errors
//
// ErrConfig, ErrClosed; those of packages verbs and lun. Initiators get the reject reasons of SRP r16a 6.4, SCSI status
// and sense, and response codes.
//
// # Testing
//
// The tests log in with this module's initiator over the software HCA, on a manual processor, and with hand-made
// information units: such as no initiator would send, and those that iPXE, ESXi, WinOFED and Linux do. Package fault
// makes the port go wrong, scsi/luntest stores.
//
// # Clauses
//
// T10 SRP r16a clauses 5 (credits, channels), 6 (information units), annex B (port identifiers); SRP-2 for immediate
// data.
package target
