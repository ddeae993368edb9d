// Package rig sets up the whole stack in one process, for tests and benchmarks: two
// HCAs in software on one fabric, a target with units on the one, a port driver with an
// SRP adapter on the other, and a disk on each unit. More hosts may join, each an
// initiator port with an HCA of its own.
//
// # Ownership
//
// New starts everything and Close ends it, in order; the processors, devices and
// memory belong to the rig.
//
// # Levels
//
// New and Close are Passive. What is in between is the stack's own.
package rig
