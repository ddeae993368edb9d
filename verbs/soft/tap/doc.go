// Package tap captures what crosses a soft fabric into a pcapng file, as the RoCEv2
// packets that it would have been on a wire, so that Wireshark and tshark show
// logins, commands, RDMA and responses. It must not slow the fabric down: what it
// cannot keep up with is dropped, and counted.
//
// # What is seen
//
// Connection management (REQ, REP, RTU, REJ, DREQ, DREP) as MADs on QP 1; SEND, RDMA
// WRITE and RDMA READ with its response as reliable-connected packets, cut at the path
// MTU into First, Middle and Last. Acknowledgements and retries are not seen: there
// are none in one process. A message is written when it has been admitted at both
// ends, before its bytes are copied.
//
// Options.Snap bytes of each message are kept. What goes beyond is told by length: its
// packets end short, as with any capture that limits packets, and have no ICRC. tshark
// 4.0 reads their headers and then calls them malformed, as it does with every
// RoCE packet that is not whole; and it takes SENDs of a few bytes for RPC over RDMA,
// unless that is disabled.
//
// Options.Size ends a capture before its file is larger, so that one which is forgotten does not fill the disk.
//
// # Pipeline
//
//	Message, Manage   Dispatch   copy into a cell of the ring, or count a drop; wake
//	write             Passive    build packets, write the file
//
// # Ownership
//
// A Capture has one goroutine, which New starts and Close awaits. The fabric's
// processors reserve cells of the ring without waiting for each other; the goroutine
// alone frees them.
//
// # Levels
//
// New, Create and Close are Passive; the rest may be called at both.
//
// # Errors
//
// The first error of writing ends the capture, not the fabric; Close returns it.
//
// # Testing
//
// Packets are checked against tshark and a second implementation of the ICRC.
//
// # Clauses
//
// IBA 9.2 to 9.4 (packets), 12.6 (messages), annexes A11 (RDMA IP CM service) and A17
// (RoCEv2); pcapng by its Internet draft.
package tap
