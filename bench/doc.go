// Package bench measures the stack: each benchmark of the whole path stands beside one
// of the bare work, in the same run, so that what is quoted is a ratio. The work is done by the packages below it.
//
// # Levels
//
// The load runs as a front end does: Raise, submit, Lower, on one goroutine, with each
// request started anew from the completion of the one before.
//
// # Testing
//
//	go test -run '^$' -bench 'Path|Model|Memcpy' ./bench
//	go run ./bench/cmd/bench load --rw randread --iodepth 32 --runtime 5 --time_based     # bench/load: fio's options
//	go run ./bench/cmd/bench scale                                                        # bench/scale: 10,000 units
//
// The names say operation, size and depth; ns/op is the time a request at that depth,
// B/op and allocs/op must be 0.
package bench
