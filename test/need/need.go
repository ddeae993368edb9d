package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Tool returns the path of a program, which may be where only root looks.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	for _, dir := range []string{"", "/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	Absent(tb, name)
	return ""
}

// Absent ends a test for want of something that test/tools.sh installs.
func Absent(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("%s is not installed, and CI=true: test/tools.sh has to install it", what)
	}
	tb.Skipf("%s is not installed", what)
}

// Trace returns the path of strace, for a test that follows the system calls of what it starts.
func Trace(tb testing.TB) string {
	tb.Helper()
	strace := Tool(tb, "strace")
	if out, err := exec.Command(strace, "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		tb.Skipf("this kernel or container lets nobody trace: %v: %s", err, out)
	}
	return strace
}

// MountNamespace returns with what a program is to be started to mount file systems that nobody else sees: as root of a
// user namespace, so that anybody may run the test.
func MountNamespace(tb testing.TB) *syscall.SysProcAttr {
	tb.Helper()
	attr := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	cmd := exec.Command(Tool(tb, "mount"), "-t", "tmpfs", "tmpfs", tb.TempDir())
	cmd.SysProcAttr = attr
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Skipf("this kernel or container refuses a mount namespace: %v: %s", err, out)
	}
	return attr
}
