package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// kernelPackage is the meta package whose dependency is the kernel of the day.
const kernelPackage = "linux-image-6.12-amd64"

// Kernel is an unpacked kernel package.
type Kernel struct {
	Image   string // the bzImage
	Modules string // /lib/modules/VERSION/kernel
}

// modules are loaded by the guest in this order.
var modules = []string{
	"drivers/block/virtio_blk.ko.xz",
	"net/core/failover.ko.xz", "drivers/net/net_failover.ko.xz", "drivers/net/virtio_net.ko.xz",
	"crypto/crc32c_generic.ko.xz", "lib/crc16.ko.xz", "fs/mbcache.ko.xz", "fs/jbd2/jbd2.ko.xz", "fs/ext4/ext4.ko.xz",
}

// FetchKernel returns the kernel, from the cache or by apt.
func FetchKernel(ctx context.Context) (*Kernel, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "minisrp", "guest-kernel")
	if k, err := findKernel(dir); err == nil {
		return k, nil
	}
	out, err := exec.CommandContext(ctx, "apt-cache", "depends", kernelPackage).Output()
	if err != nil {
		return nil, fmt.Errorf("apt-cache depends %s: %w (run apt-get update?)", kernelPackage, err)
	}
	m := regexp.MustCompile(`Depends: (linux-image-\S+)`).FindSubmatch(out)
	if m == nil {
		return nil, fmt.Errorf("apt-cache depends %s names no kernel", kernelPackage)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(dir, "fetch")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := run(ctx, work, "apt-get", "-q", "download", string(m[1])); err != nil {
		return nil, err
	}
	debs, _ := filepath.Glob(filepath.Join(work, "*.deb"))
	if len(debs) != 1 {
		return nil, fmt.Errorf("apt-get download %s brought %d packages", m[1], len(debs))
	}
	if err := run(ctx, work, "dpkg-deb", "-x", debs[0], dir); err != nil {
		return nil, err
	}
	return findKernel(dir)
}

func findKernel(dir string) (*Kernel, error) {
	images, _ := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	if len(images) == 0 {
		return nil, errors.New("no kernel is unpacked")
	}
	image := images[len(images)-1]
	version := strings.TrimPrefix(filepath.Base(image), "vmlinuz-")
	k := &Kernel{Image: image, Modules: filepath.Join(dir, "lib", "modules", version, "kernel")}
	for _, m := range modules {
		if _, err := os.Stat(filepath.Join(k.Modules, m)); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func run(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
