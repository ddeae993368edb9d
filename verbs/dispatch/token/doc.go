// Package token bounds the Passive work that burns CPU, such as hashing, scans and checks, so that processors find a CPU
// when they want one. It must not be used for work that waits: who waits for the network or a disk gives its token back
// first.
//
// # Ownership
//
// A Pool belongs to all who use it. There is one for the process, which CPUs are shared by: Default. Tests make their own.
//
// # Levels
//
// All of it is Passive.
//
// # Testing
//
// The bound and the order are tested here; what it does for processors is measured by bench/priority.
package token
