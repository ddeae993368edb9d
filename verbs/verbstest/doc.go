// Package verbstest has devices for the tests of those who use verbs: a Fake without
// a fabric, which does what the test says, and a CShaped one, which puts another
// provider behind a boundary shaped like cgo. It must not be used outside of tests.
//
// # Fake
//
// A Fake records what is posted and completes nothing by itself. The test reads the
// posts, completes them with any status, puts messages into receives, injects
// completions that no real device would give, answers connects and brings requests,
// and lets any verb fail.
//
// # CShaped
//
// A CShaped device holds whatever uses it to what a real HCA behind libibverbs can
// do. Work requests cross in chains of C structures that lie in an arena, one
// crossing for all that was posted until the frame is lowered; completions come back
// in batches; what libibverbs leaves undefined is undefined. Crossings are counted,
// so that a test can hold its subject to batching, and an address that crosses must
// lie in the arena. Memory that libibverbs would copy is overwritten after the call.
//
// # Ownership
//
// A Fake's queue pairs belong to their processors, as all do: methods that take a
// frame are for frames that own it.
//
// # Levels
//
// As in verbs. What takes neither a context nor a frame may be called at both.
//
// # Errors
//
// Those of verbs, and those that a test injects.
//
// # Testing
//
// The data-path tests that every provider passes run through a CShaped soft HCA.
//
// # Clauses
//
// The layouts are libibverbs' of rdma-core 44 on 64-bit machines, verbs.h.
package verbstest
