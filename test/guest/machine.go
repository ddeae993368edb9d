package guest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Machine is a guest that serves NBD on a port of the host's loopback.
type Machine struct {
	Argv    []string // starts it in the foreground; it prints the export's URI
	URI     string
	monitor string
}

// diskSize is the size of the guest's disk, a sparse file.
const diskSize = 1 << 30

// guestPort is where srpd listens in the guest.
const guestPort = 10809

// New prepares a machine with a fresh disk below dir, whose srpd has a disk of the given
// store. srpd and init are static programs.
func New(ctx context.Context, dir string, k *Kernel, srpd, initProgram, store string) (*Machine, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	m := &Machine{
		URI:     fmt.Sprintf("nbd://127.0.0.1:%d/disk0", port),
		monitor: filepath.Join(dir, "monitor"),
	}
	initrd := filepath.Join(dir, "initrd")
	if err := writeInitrd(initrd, k, srpd, initProgram); err != nil {
		return nil, err
	}
	disk := filepath.Join(dir, "disk")
	if err := run(ctx, dir, "mkfs.ext4", "-q", "-F", disk, fmt.Sprint(diskSize>>10)); err != nil {
		return nil, err
	}
	m.Argv = []string{
		"qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1", "-m", "768",
		"-display", "none", "-no-reboot", "-serial", "stdio", "-monitor", "unix:" + m.monitor + ",server=on,wait=off",
		"-kernel", k.Image, "-initrd", initrd,
		"-append", "console=ttyS0 quiet panic=-1 mitigations=off minisrp.store=" + store + " minisrp.uri=" + m.URI,
		"-drive", "file=" + disk + ",format=raw,if=virtio,cache=none",
		"-netdev", fmt.Sprintf("user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:%d-:%d", port, guestPort),
		"-device", "virtio-net-pci,netdev=n,romfile=",
	}
	return m, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func writeInitrd(path string, k *Kernel, srpd, initProgram string) error {
	var b bytes.Buffer
	a := &archive{w: &b}
	for _, d := range []string{"dev", "proc", "sys", "state", "tmp", "modules"} {
		a.dir(d)
	}
	for i, m := range modules {
		data, err := os.ReadFile(filepath.Join(k.Modules, m))
		if err != nil {
			return err
		}
		a.file(fmt.Sprintf("modules/%02d-%s", i, filepath.Base(m)), data)
	}
	for name, from := range map[string]string{"init": initProgram, "srpd": srpd} {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		a.file(name, data)
	}
	if err := a.close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// PullThePlug ends a running machine at once, by the monitor's quit: what the guest had
// not brought to its disk is gone.
func (m *Machine) PullThePlug() error {
	c, err := net.DialTimeout("unix", m.monitor, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("quit\n"))
	return err
}

// Build builds srpd and the guest's init, static, below dir.
func Build(ctx context.Context, dir string) (srpd, initProgram string, err error) {
	srpd, initProgram = filepath.Join(dir, "srpd"), filepath.Join(dir, "init")
	for out, pkg := range map[string]string{srpd: "minisrp/cmd/srpd", initProgram: "minisrp/test/guest/init"} {
		c := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", out, pkg)
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if b, err := c.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("go build %s: %w\n%s", pkg, err, strings.TrimSpace(string(b)))
		}
	}
	return srpd, initProgram, nil
}
