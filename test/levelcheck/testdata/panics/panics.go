package panics

import (
	"fmt"

	"minisrp/verbs/dispatch"
)

func invariant(f *dispatch.Frame, n int, err error) {
	if n < 0 {
		panic(fmt.Sprintf("n is %d: %v", n, err.Error()))
	}
	recover()
}
