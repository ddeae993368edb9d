package host

import (
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// CPU returns the time that all threads of a process have had, ended ones too, in user space and in the kernel.
func CPU(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED: ns, as clock_getcpuclockid(3) makes it
	return clock(int32(^pid<<3 | scheduler))
}

// Own returns the time that this process has had, with its ended children.
func Own() time.Duration {
	var self, children unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &self) != nil || unix.Getrusage(unix.RUSAGE_CHILDREN, &children) != nil {
		return 0 // cannot be: both are known
	}
	return used(self) + used(children)
}

func used(r unix.Rusage) time.Duration {
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func clock(id int32) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}

// Busy returns the time that all processors together have spent on anything, to 10 ms.
func Busy() (time.Duration, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	s, err := fs.Stat()
	if err != nil {
		return 0, err
	}
	c := s.CPUTotal
	return time.Duration((c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ) * float64(time.Second)), nil
}

// Memory returns how many bytes of a process are resident.
func Memory(pid int) (uint64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	s, err := p.NewStatus()
	return s.VmRSS, err
}
