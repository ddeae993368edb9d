// Package paths says where daemon and tools meet: the state directory and the sockets, when nobody names them. It must
// not make or open any of them.
//
// # Levels
//
// It computes.
package paths
