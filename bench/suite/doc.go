// Package suite is what is measured: the groups of contestants, and the figures that are made of them. It must not know
// how results are shown.
//
// # Ownership
//
// A Suite belongs to one goroutine. Servers are started when the first group needs them, and go over their whole disk
// twice before anything is measured: memory is dear at its first touch. They run until Close.
//
// # Levels
//
// Passive.
//
// # Errors
//
// A figure whose contestants are missing has the reason in the place of values.
//
// # Testing
//
// The rules of figures with samples made by hand; every figure names a group and contestants that are there.
package suite
