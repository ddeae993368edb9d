// Package stack sets up what a daemon has below its front ends, in one process, for measurements: processors, a software
// fabric with embedded targets of so many units each, and a port driver that is logged in to all of them. It must not
// measure.
//
// # Ownership
//
// New starts everything and Close ends it; nothing is left, also when New fails.
//
// # Levels
//
// New and Close are Passive.
package stack
