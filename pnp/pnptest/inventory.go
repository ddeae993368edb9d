package pnptest

import (
	"context"
	"slices"
	"strings"

	"minisrp/pnp"
)

// Inventory answers from its fields. The zero value is a host whose RDMA subsystem has no device.
//
// Ownership: the test that made it, which does not change it while it is used.
type Inventory struct {
	List   []pnp.Device             // in any order
	Counts map[string][]pnp.Counter // by device, the same for each of its ports
	Err    error                    // what every method fails with; pnp.ErrNoSubsystem for a host without RDMA
}

var _ pnp.Inventory = (*Inventory)(nil)

// Devices returns List by name. Level: Passive.
func (i *Inventory) Devices(ctx context.Context) ([]pnp.Device, error) {
	if i.Err != nil {
		return nil, i.Err
	}
	list := slices.Clone(i.List)
	slices.SortFunc(list, func(a, b pnp.Device) int { return strings.Compare(a.Name, b.Name) })
	return list, ctx.Err()
}

// Counters returns what Counts has for a device and port that List has. Level: Passive.
func (i *Inventory) Counters(ctx context.Context, device string, port int) ([]pnp.Counter, error) {
	if i.Err != nil {
		return nil, i.Err
	}
	for _, d := range i.List {
		if d.Name == device && slices.ContainsFunc(d.Ports, func(p pnp.Port) bool { return p.Number == port }) {
			return slices.Clone(i.Counts[device]), ctx.Err()
		}
	}
	return nil, &pnp.InventoryError{Op: "read counters", Device: device, Err: pnp.ErrNoDevice}
}
