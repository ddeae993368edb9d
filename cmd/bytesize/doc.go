// Package bytesize is sizes in bytes on command lines and in what is printed.
//
// # Levels
//
// It computes.
//
// # Errors
//
// Set says what it wants; the text is for users.
package bytesize
