// Package pnp knows the RDMA hardware of this host. It must not know what drives it: verbs providers and miniports are
// interfaces to it.
//
// It is where the bus manager belongs, the one owner of the tree of HCAs, ports and bus devices. What stands here is
// the manager's eyes: an Inventory, which lists the devices that the kernel has, their ports and counters, when it is
// asked. It follows no changes and controls nothing.
//
// # Ownership
//
// An Inventory has no goroutine and no state. Every method may be called from several goroutines at once.
//
// # Levels
//
// Everything is Passive: it reads files below /sys and asks the kernel through netlink.
//
// # Errors
//
// ErrNoSubsystem says that the kernel has no RDMA devices because it has no RDMA subsystem loaded, which is ordinary:
// the software HCA needs none. ErrNoDevice says that a device or port is not there, perhaps not any more. Whatever else
// goes wrong is an *InventoryError that names the operation and the device. An empty list with a nil error means that
// the subsystem is there and has no device.
//
// # Testing
//
// The library that reads the devices (github.com/Mellanox/rdmamap) has its paths fixed, so the tests give it a tree of
// their own at /sys/class, in a mount namespace of a child process. pnptest has an Inventory for the tests of others.
//
// # Clauses
//
// Linux Documentation/ABI/stable/sysfs-class-infiniband for the files below a device; include/uapi/rdma/rdma_netlink.h
// for the list that the sysfs one is compared with.
package pnp
