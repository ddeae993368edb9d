// Command srpctl asks a running srpd what it does. It must not look anywhere but at the daemon's control socket.
//
//	srpctl targets [NAME…]    target ports, their sessions and channels
//	srpctl units [NAME…]      disks, by name or identity
//	srpctl counters           what has been counted, by layer
//	srpctl version            its own version, and the daemon's
//
// Tables are for people and may change; --json prints what the daemon said, whose format has a number.
//
// # Levels
//
// Passive.
//
// # Errors
//
// Exit codes are those of package exitcode.
//
// # Testing
//
// Golden files hold what is printed of a fixed source; package cmd/srpd runs the program against the daemon.
package main
