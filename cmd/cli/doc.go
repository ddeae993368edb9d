// Package cli is what the command lines of all programs have in common: how they refuse what is wrong, what their help
// looks like, which exit codes a command has. It must not know what any command does.
//
// Help is made of the commands: their description, options, exit codes and examples. The manual pages are made of the
// same (package clitest), so neither can say what the other does not.
//
// # Levels
//
// Passive.
//
// # Errors
//
// All errors have exit codes (package exitcode).
//
// # Testing
//
// Package clitest holds the help and the manual pages of a program against files; the programs call it.
package cli
