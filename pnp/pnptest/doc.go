// Package pnptest has an Inventory that says what a test tells it to. It must not be imported by what is shipped.
//
// # Levels
//
// Everything is Passive, as in pnp.
package pnptest
