package pnptest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"minisrp/pnp"
	"minisrp/pnp/pnptest"
)

func ExampleInventory() {
	var inventory pnp.Inventory = &pnptest.Inventory{List: []pnp.Device{
		{Name: "mlx5_1"},
		{Name: "mlx5_0", Ports: []pnp.Port{{Number: 1, State: "ACTIVE", LinkLayer: "InfiniBand"}}},
	}}
	devices, err := inventory.Devices(context.Background())
	for _, d := range devices {
		fmt.Println(d.Name, d.Ports)
	}
	fmt.Println(err)
	// Output:
	// mlx5_0 [{1 ACTIVE InfiniBand }]
	// mlx5_1 []
	// <nil>
}

func TestErrors(t *testing.T) {
	i := &pnptest.Inventory{List: []pnp.Device{{Name: "a"}}}
	if _, err := i.Counters(t.Context(), "a", 1); !errors.Is(err, pnp.ErrNoDevice) {
		t.Errorf("counters of a port that is not there: %v, want ErrNoDevice", err)
	}
	i.Err = pnp.ErrNoSubsystem
	if _, err := i.Devices(t.Context()); !errors.Is(err, pnp.ErrNoSubsystem) {
		t.Errorf("devices: %v, want ErrNoSubsystem", err)
	}
}
