// Command flushtrace runs an NBD server under strace, writes to it and flushes, and checks in the trace that every write was
// synced to its file before the reply that promises so.
//
//	go run ./test/durable/cmd/flushtrace [flags] -- build/srpd run --embedded
//	go run ./test/durable/cmd/flushtrace -check TRACE
//
// The command behind -- must stay in the foreground. What the export held is overwritten here and there. A trace for
// -check comes from strace -f -ttt -y -s 262144 -o TRACE, and holds the calls that read, write, sync and open.
//
// Exit status: 0 when every promise is proved, 1 when one is not or there was none, 2 when there is nothing to judge.
//
// # Levels
//
// All Passive.
package main
