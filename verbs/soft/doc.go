// Package soft is an HCA in software: a verbs provider that needs no hardware. This
// part connects HCAs of one process through a Fabric. It must not know what the
// messages mean.
//
// # Ownership
//
// A QP belongs to the processor of its CQs. The engine that executes its send queue
// runs on the peer's processor; see qp. The connection manager runs on the workers of
// verbs.Device and on the processors of the ends. The package has no goroutines.
//
// # Levels
//
// Posting, polling, arming and the engines are Dispatch and take no lock. Making,
// connecting and destroying are Passive.
//
// # What is checked
//
// Everything that a real HCA checks: lkeys and rkeys by index and key byte, the
// protection domain, the QP a window is bound for, bounds, rights of the key and of
// the QP, room in the receive, receives at all (RNR, with timer and retry count), and
// the state of both ends. Errors become the completion status that IBA chapter 11
// gives them, at both ends, and take the QPs to the Error state.
//
// # Protection
//
// A key counts the accesses under way: each is counted before its rights are checked
// and until its last byte is copied. LocalInv marks the key, and completes when the
// last access has ended; a copy looks at the mark between steps of 64 KiB. A QP in
// Error flushes when nothing is copied into or out of its memory any more.
//
// # Queues
//
// A queue has exactly the places that were asked for. As in a real HCA, a place is
// free when the completion of its request, or of a later one, has been polled.
//
// # State machine
//
// The QP's is verbs.QPState.CanGo. The engine's:
//
//	attached  the peer's processor executes requests in order
//	waiting   attached, until a receive is posted or the RNR timer fires, a key's
//	          last access ends, the peer is connected, or the fault layer resumes
//	at home   not connected yet, or the peer is gone or the QP in Error: requests are
//	          flushed when it is
//
// A connection's is drawn in cm.go.
//
// # Errors
//
// verbs' sentinels and RejectError.
//
// # Testing
//
// A Fault stalls copies; a Tap sees each message. The data path is held to what
// verbs/internal/providertest says, keys to a model over interleavings, and ends of
// connections to traffic that is cut at random.
package soft
