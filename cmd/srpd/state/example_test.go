package state_test

import (
	"context"
	"fmt"
	"os"

	"minisrp/cmd/srpd/state"
)

// A unit keeps its name, whatever else comes and goes.
func Example() {
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for range 2 {
		s, err := state.Open(dir, state.Options{Log: quiet})
		if err != nil {
			fmt.Println(err)
			return
		}
		name, err := s.Bind(context.Background(), "naa.6024d53f1a22ec5d43905e61b0987e56")
		fmt.Println(name, err, s.Close())
	}
	// Output:
	// disk0 <nil> <nil>
	// disk0 <nil> <nil>
}
