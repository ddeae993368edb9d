// Package clitest holds what a program says of itself against files: the help of every command, and the manual pages,
// which it makes of the commands. It must not be imported by what is shipped.
//
// go test -update writes the files anew; make man does that for all programs.
package clitest
