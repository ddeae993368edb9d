package pnp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside says to the test binary that it runs in a mount namespace of its own.
const inside = "PNP_TEST_INSIDE"

// TestOwnSys runs the tests whose names start with TestInside in a child that may cover /sys/class.
func TestOwnSys(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestInside", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		t.Skipf("needs a mount namespace: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "--- PASS: TestInside"); n != 5 {
		t.Errorf("%d tests passed in the namespace, want 5:\n%s", n, out)
	}
}

// cover puts an empty directory over /sys/class.
func cover(t *testing.T) {
	t.Helper()
	if os.Getenv(inside) == "" {
		t.Skip("runs as a part of TestOwnSys")
	}
	if err := unix.Mount("", "/sys", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", "/sys/class", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount("/sys/class", 0); err != nil {
			t.Error(err)
		}
	})
}

// write makes files below /sys/class; a name that ends in a slash is a directory, a value that starts with "->" a link.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, value := range files {
		path := filepath.Join("/sys/class", name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, ok := strings.CutPrefix(value, "->"); ok {
			err = errors.Join(err, os.Symlink(target, path))
		} else if strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(value+"\n"), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// host is what the kernel shows of a two-port HCA and of a software device without port counters.
var host = map[string]string{
	"infiniband/mlx5_1": "->../devices/mlx5_1",
	"infiniband/mlx5_0": "->../devices/mlx5_0",
	"infiniband/rxe0":   "->../devices/rxe0",

	"devices/mlx5_0/node_guid":                         "0c42:a103:0065:5bd2",
	"devices/mlx5_0/ports/2/state":                     "1: DOWN",
	"devices/mlx5_0/ports/2/link_layer":                "InfiniBand",
	"devices/mlx5_0/ports/2/rate":                      "10 Gb/sec (4X SDR)",
	"devices/mlx5_0/ports/1/state":                     "4: ACTIVE",
	"devices/mlx5_0/ports/1/link_layer":                "InfiniBand",
	"devices/mlx5_0/ports/1/rate":                      "100 Gb/sec (4X EDR)",
	"devices/mlx5_0/ports/1/counters/symbol_error":     "0",
	"devices/mlx5_0/ports/1/counters/port_xmit_data":   "18446744073709551615",
	"devices/mlx5_0/ports/1/counters/link_downed":      "->/nowhere",
	"devices/mlx5_0/ports/1/counters/port_rcv_data":    "N/A",
	"devices/mlx5_0/ports/1/hw_counters/out_of_buffer": "7",
	"devices/mlx5_0/ports/1/hw_counters/lifespan":      "10",

	"devices/mlx5_1/node_guid": "0c42:a103:0065:5bd3",
	"devices/mlx5_1/ports/":    "",

	"devices/rxe0/node_guid":                     "5054:00ff:fe12:3456",
	"devices/rxe0/ports/1/state":                 "4: ACTIVE",
	"devices/rxe0/ports/1/link_layer":            "Ethernet",
	"devices/rxe0/ports/1/rate":                  "2.5 Gb/sec (1X SDR)",
	"devices/rxe0/ports/1/hw_counters/sent_pkts": "12",

	"infiniband_verbs/uverbs0/ibdev": "mlx5_0",
	"infiniband_verbs/uverbs1/ibdev": "rxe0",
	"infiniband_mad/umad0/ibdev":     "mlx5_0",
	"infiniband_mad/issm0/ibdev":     "mlx5_0",
}

func TestInsideDevices(t *testing.T) {
	cover(t)
	write(t, host)
	devices, err := (&Kernel{}).Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Device{
		{Name: "mlx5_0", NodeGUID: "0c42:a103:0065:5bd2",
			Ports: []Port{
				{1, "ACTIVE", "InfiniBand", "100 Gb/sec (4X EDR)"},
				{2, "DOWN", "InfiniBand", "10 Gb/sec (4X SDR)"},
			},
			CharDevices: []string{"/dev/infiniband/issm0", "/dev/infiniband/umad0", "/dev/infiniband/uverbs0"}},
		{Name: "mlx5_1", NodeGUID: "0c42:a103:0065:5bd3"},
		{Name: "rxe0", NodeGUID: "5054:00ff:fe12:3456",
			Ports:       []Port{{1, "ACTIVE", "Ethernet", "2.5 Gb/sec (1X SDR)"}},
			CharDevices: []string{"/dev/infiniband/uverbs1"}},
	}
	for i := range devices { // the connection manager's device belongs to the host that the test runs on
		devices[i].CharDevices = without(devices[i].CharDevices, "/dev/infiniband/rdma_cm")
	}
	if !reflect.DeepEqual(devices, want) {
		t.Errorf("devices\n%+v\nwant\n%+v", devices, want)
	}
}

func without(list []string, name string) (rest []string) {
	for _, s := range list {
		if s != name {
			rest = append(rest, s)
		}
	}
	return rest
}

func TestInsideCounters(t *testing.T) {
	cover(t)
	write(t, host)
	counters, err := (&Kernel{}).Counters(t.Context(), "mlx5_0", 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []Counter
	for _, c := range counters {
		if unread := c.Name == "link_downed" || c.Name == "port_rcv_data"; unread != (c.Err != nil) {
			t.Errorf("%s: error %v", c.Name, c.Err)
		}
		c.Err = nil
		got = append(got, c)
	}
	want := []Counter{
		{Name: "link_downed"},
		{Name: "port_rcv_data"},
		{Name: "port_xmit_data", Value: 1<<64 - 1},
		{Name: "symbol_error"},
		{Name: "out_of_buffer", Hardware: true, Value: 7},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("counters\n%+v\nwant\n%+v", got, want)
	}

	if counters, err := (&Kernel{}).Counters(t.Context(), "rxe0", 1); err != nil || len(counters) != 1 || counters[0].Value != 12 {
		t.Errorf("a device without port counters: %v, %v", counters, err)
	}
	for _, at := range []struct {
		device string
		port   int
	}{{"rxe0", 2}, {"rxe0", -1}, {"absent", 1}, {"", 1}, {"../devices/rxe0", 1}} {
		if _, err := (&Kernel{}).Counters(t.Context(), at.device, at.port); !errors.Is(err, ErrNoDevice) {
			t.Errorf("counters of %q port %d: %v, want ErrNoDevice", at.device, at.port, err)
		}
	}
}

func TestInsideErrors(t *testing.T) {
	cover(t)
	k := &Kernel{}
	if _, err := k.Devices(t.Context()); !errors.Is(err, ErrNoSubsystem) {
		t.Errorf("without a subsystem: %v, want ErrNoSubsystem", err)
	}

	write(t, map[string]string{"infiniband/": ""})
	if devices, err := k.Devices(t.Context()); err != nil || len(devices) != 0 {
		t.Errorf("without a device: %v, %v, want nothing", devices, err)
	}

	var failed *InventoryError
	write(t, map[string]string{"infiniband/rxe0": "->../devices/rxe0", "devices/rxe0/ports/1/state": "4: ACTIVE"})
	if _, err := k.Devices(t.Context()); !errors.As(err, &failed) || failed.Device != "rxe0" {
		t.Errorf("with a device that has no GUID: %v, want an InventoryError of rxe0", err)
	}
	write(t, map[string]string{"devices/rxe0/node_guid": "5054:00ff:fe12:3456"})
	if _, err := k.Devices(t.Context()); !errors.As(err, &failed) || failed.Device != "rxe0" {
		t.Errorf("with a port that has no link layer: %v, want an InventoryError of rxe0", err)
	}

	write(t, map[string]string{"infiniband/gone": "->/nowhere"}) // as one that vanishes after it was listed
	if err := os.RemoveAll("/sys/class/infiniband/rxe0"); err != nil {
		t.Fatal(err)
	}
	if devices, err := k.Devices(t.Context()); err != nil || len(devices) != 0 {
		t.Errorf("with a device that vanished: %v, %v, want nothing", devices, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Devices(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestInsideUnreadable(t *testing.T) {
	cover(t)
	write(t, map[string]string{"infiniband": "a file, not a directory"})
	var failed *InventoryError
	if _, err := (&Kernel{}).Devices(t.Context()); !errors.As(err, &failed) || errors.Is(err, ErrNoSubsystem) {
		t.Errorf("devices: %v, want an InventoryError that is not ErrNoSubsystem", err)
	}
}

func TestInsideDisagreement(t *testing.T) {
	cover(t)
	write(t, host)
	var log bytes.Buffer
	k := &Kernel{
		Log:   slog.New(slog.NewTextHandler(&log, nil)),
		links: func() ([]string, error) { return []string{"mlx5_0", "mlx5_1", "siw0"}, nil },
	}
	if _, err := k.Devices(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`level=WARN msg="RDMA device is in sysfs but not in netlink" device=rxe0`,
		`level=WARN msg="RDMA device is in netlink but not in sysfs" device=siw0`,
	} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("the log lacks %s:\n%s", text, &log)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("%d lines in the log:\n%s", n, &log)
	}
}

// Netlink answers or says why not, whatever this machine has.
func TestNetlink(t *testing.T) {
	names, err := netlinkNames()
	t.Logf("netlink: %q, %v", names, err)
	if err != nil && strings.Contains(err.Error(), "panicked") {
		t.Error(err)
	}
}

func TestGuard(t *testing.T) {
	if _, err := guard(func() int { panic("empty file") }); err == nil || !strings.Contains(err.Error(), "empty file") {
		t.Errorf("a panic became %v", err)
	}
}
