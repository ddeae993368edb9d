// Command srpd logs in to SRP targets and serves their logical units as block devices over NBD. Its packages do the
// work; what is here reads the command line and waits for signals.
//
//	srpd run --embedded     a target of its own in the process, a login to it, and its disk at an NBD socket
//	srpd run --help         all options
//
// # Levels
//
// Passive.
//
// # Errors
//
// Exit codes are those of package exitcode; what is wrong stands on the standard error.
//
// # Testing
//
// The tests build the program and run it as users do: with nbdinfo, nbdcopy, qemu-img, fio, strace and tshark, with
// signals, and in every way that it can fail.
package main
