// Package host tells what the machine is and what is done with its processors: by a process, by all that this program
// has started, and by everything else. It must not change anything.
//
// # Levels
//
// Passive: it reads /proc and clocks.
//
// # Errors
//
// Those of the system. What a kernel does not tell stays empty.
//
// # Testing
//
// Against what this process does itself.
package host
