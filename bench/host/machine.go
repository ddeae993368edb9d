package host

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"minisrp/bench/result"
)

// Machine tells what this machine is.
func Machine() result.Machine {
	m := result.Machine{CPUs: runtime.NumCPU(), System: distribution(), Clock: firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource")}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if c, err := fs.CPUInfo(); err == nil && len(c) > 0 {
			m.CPU = c[0].ModelName
		}
		if i, err := fs.Meminfo(); err == nil && i.MemTotalBytes != nil {
			m.Memory = *i.MemTotalBytes
		}
	}
	return m
}

// Available returns how many bytes of memory programs can still have; 0 if the kernel does not say.
func Available() uint64 {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	i, err := fs.Meminfo()
	if err != nil || i.MemAvailableBytes == nil {
		return 0
	}
	return *i.MemAvailableBytes
}

// distribution returns the name of the system, of os-release(5).
func distribution() string {
	f, err := os.Open("/etc/os-release")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// Build tells what this program was built from.
func Build() result.Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return result.Build{Go: runtime.Version()}
	}
	b := result.Build{Module: info.Main.Path + " " + info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
