package deferred

import "minisrp/verbs/dispatch"

func loops(f *dispatch.Frame, n int) {
	for range n {
		defer done() // want `\[defer\] at Dispatch: defers in a loop`
	}
	for i := 0; i < n; i++ {
		if i > 2 {
			for range n {
				defer done() // want `\[defer\] at Dispatch: defers in a loop`
			}
		}
	}
}

func once(f *dispatch.Frame, n int) {
	defer done()
	for range n {
		func() {
			defer done() // runs at the end of each turn
		}()
	}
}

func done() {}
