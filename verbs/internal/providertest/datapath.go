package providertest

import "testing"

// test is one statement about the data path.
type test struct {
	name string
	run  func(t *testing.T, plug Plug, o Options)
}

// DataPath holds a provider to the statements about its data path, with one
// processor for both ends and with two.
func DataPath(t *testing.T, plug Plug) {
	for _, list := range [][]test{sendTests, rdmaTests, windowTests, queueTests} {
		for _, tt := range list {
			t.Run(tt.name, func(t *testing.T) {
				Both(t, func(t *testing.T, o Options) { tt.run(t, plug, o) })
			})
		}
	}
}
