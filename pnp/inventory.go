package pnp

import (
	"context"
	"errors"
)

// Inventory lists the RDMA devices of a host.
type Inventory interface {
	// Devices returns the devices by name, each with its ports by number. Without an RDMA subsystem the error is
	// ErrNoSubsystem. A device that vanishes while it is looked at is left out. Level: Passive.
	Devices(ctx context.Context) ([]Device, error)

	// Counters returns the counters of a port by name, the port's own before those of the hardware. Ports count from
	// 1. The error is ErrNoDevice when there is no such device or port. Level: Passive.
	Counters(ctx context.Context, device string, port int) ([]Counter, error)
}

// Device is an RDMA device as the kernel knows it.
type Device struct {
	Name     string // rxe0, mlx5_1
	NodeGUID string // four groups of four hexadecimal digits
	Ports    []Port
	// CharDevices are the paths below /dev/infiniband that belong to the device, sorted. The library finds one umad and
	// one issm for a device, so those of further ports are missing.
	CharDevices []string
}

// Port is a port of an RDMA device. The texts are the kernel's own.
type Port struct {
	Number    int    // from 1
	State     string // ACTIVE, DOWN, INIT, ARMED
	LinkLayer string // InfiniBand or Ethernet
	Rate      string // 100 Gb/sec (4X EDR)
}

// Counter is one value of a port, counted since the device came up.
type Counter struct {
	Name     string
	Hardware bool // from the device's own set, whose names differ between drivers
	Value    uint64
	Err      error // why the value could not be read; nil if it could
}

var (
	// ErrNoSubsystem says that the kernel has no RDMA subsystem. The caller does without hardware; the user who has
	// some loads its module (ib_core comes with it).
	ErrNoSubsystem = errors.New("the kernel has no RDMA subsystem (module ib_core is not loaded)")

	// ErrNoDevice says that the device or port is not there. The caller lists again.
	ErrNoDevice = errors.New("no such RDMA device or port")
)

// InventoryError tells what could not be read.
type InventoryError struct {
	Op     string // "list devices", "read port"
	Device string // "" when it is about all
	Err    error
}

func (e *InventoryError) Error() string {
	if e.Device == "" {
		return "pnp: " + e.Op + ": " + e.Err.Error()
	}
	return "pnp: " + e.Op + " of " + e.Device + ": " + e.Err.Error()
}

func (e *InventoryError) Unwrap() error { return e.Err }
