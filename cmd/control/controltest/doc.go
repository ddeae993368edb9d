// Package controltest has a control.Source and a control.Admin with fixed answers, for the tests of servers and clients. It must not be
// imported by what is shipped.
package controltest
