package pool

import (
	"sync"

	"minisrp/verbs/dispatch"
)

var pool sync.Pool

func uses(f *dispatch.Frame) {
	v := pool.Get() // want `\[pool\] at Dispatch: uses a sync.Pool`
	pool.Put(v)     // want `\[pool\] at Dispatch: uses a sync.Pool`
}
