package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "init: only for a guest, as its process 1")
		os.Exit(2)
	}
	if err := boot(); err != nil {
		fmt.Println("guest:", err)
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func boot() error {
	for _, m := range [][3]string{{"proc", "/proc", "proc"}, {"sys", "/sys", "sysfs"}, {"dev", "/dev", "devtmpfs"}} {
		if err := unix.Mount(m[0], m[1], m[2], 0, ""); err != nil && err != unix.EBUSY {
			return fmt.Errorf("mount %s: %w", m[1], err)
		}
	}
	if err := loadModules("/modules"); err != nil {
		return err
	}
	if err := unix.Mount("/dev/vda", "/state", "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount /state: %w", err)
	}
	if err := network(); err != nil {
		return err
	}
	return serve()
}

func loadModules(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.ko.xz"))
	if err != nil {
		return err
	}
	for _, name := range names { // Glob sorts
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", unix.MODULE_INIT_COMPRESSED_FILE)
		f.Close()
		if err != nil && err != unix.EEXIST {
			return fmt.Errorf("load %s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

// network brings up QEMU's user network with the address that it forwards to.
func network() error {
	for name, addr := range map[string]string{"lo": "127.0.0.1/8", "eth0": "10.0.2.15/24"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
		a, err := netlink.ParseAddr(addr)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(link, a); err != nil && err != unix.EEXIST {
			return fmt.Errorf("address of %s: %w", name, err)
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("link %s up: %w", name, err)
		}
	}
	return nil
}

// serve runs srpd, and tells the host's URI when it is ready.
func serve() error {
	c := exec.Command("/srpd", "run", "--embedded", "--state-dir", "/state", "--store", argument("store"), "--size", "256M", "--tcp", "0.0.0.0:10809")
	c.Env = []string{"HOME=/state", "PATH=/"}
	c.Stderr = os.Stdout
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	told := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !told && strings.Contains(lines.Text(), "nbd://") {
			fmt.Println("ready", argument("uri"))
			told = true
		}
	}
	return c.Wait()
}

// argument returns what the kernel's command line says as minisrp.NAME=.
func argument(name string) string {
	b, _ := os.ReadFile("/proc/cmdline")
	for word := range strings.FieldsSeq(string(b)) {
		if v, ok := strings.CutPrefix(word, "minisrp."+name+"="); ok {
			return v
		}
	}
	return "(no minisrp." + name + " on the kernel's command line)"
}
