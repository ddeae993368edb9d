package cgo

// static int twice(int n) { return 2 * n; }
import "C"

import "minisrp/verbs/dispatch"

func calls(f *dispatch.Frame) int {
	return int(C.twice(4)) // want `\[cgo\] at Dispatch: calls C.twice`
}
