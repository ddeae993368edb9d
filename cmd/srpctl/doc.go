// Command srpctl asks a running srpd what it does, and has it do something. It must not look anywhere but at the daemon's
// control socket: what a unit answers comes from there too, and is only put into words here (package decode).
//
//	ask.go, change.go    how the daemon is asked, and how it is told to change something
//	scsi.go              how commands get to logical units
//	targets.go, …        the commands, a file for each group
//	tables.go            how tables are printed
//
// Tables are for people and may change; --json prints what the daemon said, whose format has a number. srpctl --help and
// the manual pages (man) say what there is; make man makes the pages of the commands.
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
// Golden files hold what is printed of a fixed source, help and manual pages; package cmd/srpd runs the program against
// the daemon.
package main
