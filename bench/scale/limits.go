package scale

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limits are what there is at most; 0: as much as one likes.
type limits struct {
	memory   float64 // bytes
	files    float64
	mappings float64
	pairs    float64 // of queues, of the initiator's HCA
}

// channels is how many a port driver tells apart: a tag has 16 bits for one.
const channels = 1 << 16

// systemLimits reads them from the process and the system.
func systemLimits() limits {
	var l limits
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "MemAvailable:" {
				kib, _ := strconv.ParseFloat(f[1], 64)
				l.memory = kib * 1024
			}
		}
	}
	l.files = rlimit(unix.RLIMIT_NOFILE)
	if text, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		l.mappings, _ = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	}
	return l
}

func rlimit(which int) float64 {
	var r unix.Rlimit
	if unix.Getrlimit(which, &r) != nil || r.Cur == unix.RLIM_INFINITY {
		return 0
	}
	return float64(r.Cur)
}
