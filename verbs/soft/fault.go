package soft

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Fault is a layer that can stall the fabric in mid-copy.
type Fault interface {
	// Step is asked before each step of each copy; true stalls the copy until
	// Fabric.Resume, with its keys in use. qpn is the requester's, moved the bytes
	// copied so far.
	//
	//level:dispatch noalloc
	Step(f *dispatch.Frame, qpn uint32, op verbs.Opcode, moved uint64) (stall bool)
}
