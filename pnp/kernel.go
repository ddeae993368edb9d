package pnp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/Mellanox/rdmamap"
	"github.com/vishvananda/netlink"
)

// Kernel is the Inventory of this host. It reads with rdmamap, which says "nothing there" for every error, sorts
// nothing and reports a counter that it cannot read as 0; so each of its answers is checked against what the directory
// itself says, and the list of devices against the kernel's netlink interface.
type Kernel struct {
	// Log takes what the two lists of devices disagree about, at Warn. nil discards it.
	Log *slog.Logger

	links func() ([]string, error) // netlink's list; nil for the real one
}

var _ Inventory = (*Kernel)(nil)

// Devices lists the devices of this host. Level: Passive.
func (k *Kernel) Devices(ctx context.Context) ([]Device, error) {
	names, err := k.names()
	if err != nil {
		return nil, err
	}
	var devices []Device
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, &InventoryError{"list devices", "", err}
		}
		d, err := k.device(name)
		if err != nil && gone(name) {
			continue
		}
		if err != nil {
			return nil, err
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// names returns the sorted names of the devices.
func (k *Kernel) names() ([]string, error) {
	const op = "list devices"
	there, err := dirNames(rdmamap.RdmaClassDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoSubsystem
	}
	if err != nil {
		return nil, &InventoryError{op, "", err}
	}
	names, err := guard(rdmamap.GetRdmaDeviceList)
	if err != nil {
		return nil, &InventoryError{op, "", err}
	}
	if len(names) == 0 && len(there) > 0 {
		return nil, &InventoryError{op, "", fmt.Errorf("%s has %d entries and none is a device", rdmamap.RdmaClassDir, len(there))}
	}
	slices.Sort(names)
	k.compare(names)
	return names, nil
}

// compare logs the devices that only one of sysfs and netlink has. An RDMA device that belongs to another network
// namespace is in neither.
func (k *Kernel) compare(names []string) {
	if k.Log == nil {
		return
	}
	list := k.links
	if list == nil {
		list = netlinkNames
	}
	links, err := list()
	if err != nil {
		k.Log.Debug("RDMA netlink does not answer", "err", err)
		return
	}
	for _, name := range names {
		if !slices.Contains(links, name) {
			k.Log.Warn("RDMA device is in sysfs but not in netlink", "device", name)
		}
	}
	for _, name := range links {
		if !slices.Contains(names, name) {
			k.Log.Warn("RDMA device is in netlink but not in sysfs", "device", name)
		}
	}
}

func netlinkNames() ([]string, error) {
	var err error
	links, panicked := guard(func() []*netlink.RdmaLink {
		var l []*netlink.RdmaLink
		l, err = netlink.RdmaLinkList()
		return l
	})
	if err = cmp.Or(panicked, err); err != nil {
		return nil, err
	}
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.Attrs.Name
	}
	return names, nil
}

func (k *Kernel) device(name string) (Device, error) {
	d := Device{Name: name}
	var err error
	if d.NodeGUID, err = readLine(filepath.Join(rdmamap.RdmaClassDir, name, rdmamap.RdmaNodeGuidFile)); err != nil {
		return d, &InventoryError{"read GUID", name, err}
	}
	if d.CharDevices, err = guard(func() []string { return rdmamap.GetRdmaCharDevices(name) }); err != nil {
		return d, &InventoryError{"list character devices", name, err}
	}
	slices.Sort(d.CharDevices)
	if d.Ports, err = k.ports(name); err != nil {
		return d, &InventoryError{"read ports", name, err}
	}
	return d, nil
}

func (k *Kernel) ports(device string) ([]Port, error) {
	names, err := guard(func() []string { return rdmamap.GetPorts(device) })
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(rdmamap.RdmaClassDir, device, rdmamap.RdmaPortsdir)
	if len(names) == 0 {
		if _, err := dirNames(dir); err != nil {
			return nil, err
		}
	}
	var ports []Port
	for _, name := range names {
		number, err := strconv.Atoi(name)
		if err != nil || number < 1 {
			return nil, fmt.Errorf("a port is called %q, which is no number from 1", name)
		}
		p, err := readPort(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		p.Number = number
		ports = append(ports, p)
	}
	slices.SortFunc(ports, func(a, b Port) int { return cmp.Compare(a.Number, b.Number) })
	return ports, nil
}

// Counters reads the counters of a port of this host. Level: Passive.
func (k *Kernel) Counters(ctx context.Context, device string, port int) ([]Counter, error) {
	const op = "read counters"
	if err := ctx.Err(); err != nil {
		return nil, &InventoryError{op, device, err}
	}
	if !isName(device) {
		return nil, &InventoryError{op, device, ErrNoDevice}
	}
	dir := filepath.Join(rdmamap.RdmaClassDir, device, rdmamap.RdmaPortsdir, strconv.Itoa(port))
	if _, err := os.Stat(dir); err != nil {
		return nil, &InventoryError{op, device, cmp.Or(absent(err), err)}
	}
	own, err := counters(filepath.Join(dir, rdmamap.RdmaCountersDir), false, func() ([]rdmamap.RdmaStatEntry, error) {
		return rdmamap.GetRdmaSysfsStats(device, port)
	})
	if err != nil {
		return nil, &InventoryError{op, device, err}
	}
	hardware, err := counters(filepath.Join(dir, rdmamap.RdmaHwCountersDir), true, func() ([]rdmamap.RdmaStatEntry, error) {
		return rdmamap.GetRdmaSysfsHwStats(device, port)
	})
	if err != nil {
		return nil, &InventoryError{op, device, err}
	}
	return append(own, hardware...), nil
}

// counters reads one set. A driver may lack either: software devices have no port counters.
func counters(dir string, hardware bool, read func() ([]rdmamap.RdmaStatEntry, error)) ([]Counter, error) {
	var err error
	entries, panicked := guard(func() []rdmamap.RdmaStatEntry {
		var e []rdmamap.RdmaStatEntry
		e, err = read()
		return e
	})
	switch err = cmp.Or(panicked, err); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	list := make([]Counter, 0, len(entries))
	for _, e := range entries {
		if !isCounter(e.Name) {
			continue
		}
		c := Counter{Name: e.Name, Hardware: hardware, Value: e.Value}
		if c.Value == 0 { // or it could not be read
			c.Value, c.Err = readCounter(filepath.Join(dir, e.Name))
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Counter) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// guard calls into a library that can panic on what it reads.
func guard[T any](call func() T) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the library panicked: %v", p)
		}
	}()
	return call(), nil
}
