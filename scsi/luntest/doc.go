// Package luntest is for whoever wants stores to misbehave: layers that go over a store of package lun. It must not be
// needed by a unit in ordinary use.
//
// # Layers
//
// A layer is a store over a store. Layers stack, each is a few lines, and can be switched while requests run. A unit
// on a layer never completes at Dispatch: a Layer is not lun.Mapped, whatever is below it.
//
// # Ownership
//
// A layer belongs to the unit as any store does, and closes what is below. Its switches may be used from any
// goroutine.
//
// # Levels
//
// All of it is Passive, as stores are.
package luntest
