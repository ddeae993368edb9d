// Package low breaks rules that packages above it only call.
package low

var ch chan int

func Wait() { <-ch } // want Wait:`blocks: .*receives from a channel`
