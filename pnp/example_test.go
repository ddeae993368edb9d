package pnp_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"minisrp/pnp"
)

// A program that can do without hardware treats ErrNoSubsystem as an empty list.
func ExampleKernel() {
	var inventory pnp.Inventory = &pnp.Kernel{}
	devices, err := inventory.Devices(context.Background())
	if err != nil && !errors.Is(err, pnp.ErrNoSubsystem) {
		fmt.Fprintln(os.Stderr, err)
	}
	for _, d := range devices {
		fmt.Fprintln(os.Stderr, d.Name, d.NodeGUID, len(d.Ports), "ports")
	}
	// Output:
}
