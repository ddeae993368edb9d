// Command durable kills an NBD server again and again while it is written to, and checks that what it had acknowledged as
// durable is there each time it has started again.
//
//	go run ./test/durable/cmd/durable [flags] -- build/srpd run --embedded
//
// The command behind -- must stay in the foreground, keep its state from one life to the next, and start without help
// after it was killed. What the export held is overwritten in part.
//
// Exit status: 0 when nothing was lost, 1 when something was, 2 when the server could not be judged.
//
// # Levels
//
// All Passive.
package main
