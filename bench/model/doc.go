// Package model measures the data path beside the bare work that it does: a copy of the same bytes, and a model of
// an adapter that does nothing but queue, copy and complete. All three run in one process over the same memory, in
// turns, so that what is quoted is a ratio.
//
//	memcpy   copy(buffer, unit), at the places of a sequence
//	model    one queue entry, one copy, one completion: inline on the submitting goroutine, no protocol
//	path     miniport, SRP, two queue pairs of the software HCA, target, and a ram unit
//
// # Ownership
//
// A Bed has the memory and the stack; its subjects belong to it, and each runs on the goroutine that calls Run, one
// at a time. With several lanes there is a goroutine for each, and a processor, a unit and buffers of its own.
//
// # Levels
//
// Everything exported is Passive. The path runs as a front end does: Raise, submit, Lower, with each request started
// anew from the completion of one before.
//
// # Testing
//
// That every subject copies what the others copy, from and to the same places, is tested on a small unit; how fast
// they do it is not.
package model
