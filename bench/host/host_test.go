package host_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"minisrp/bench/host"
)

// A process's clock goes on while it works, and is as what getrusage says.
func TestCPU(t *testing.T) {
	before, err := host.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	own := host.Own()
	for host.Own()-own < 20*time.Millisecond {
		runtime.KeepAlive(make([]byte, 1<<16))
	}
	after, err := host.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if used := after - before; used < 19*time.Millisecond {
		t.Errorf("used %v, want 20ms", used)
	}
}

// An ended process has no clock; its time is a child's.
func TestEnded(t *testing.T) {
	own := host.Own()
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := host.CPU(cmd.Process.Pid); err == nil {
		t.Error("an ended process has a clock")
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if got := host.Own() - own; got < used {
		t.Errorf("this process and its children used %v, want %v or more", got, used)
	}
}

func TestBusy(t *testing.T) {
	if busy, err := host.Busy(); err != nil || busy <= 0 {
		t.Errorf("%v, %v", busy, err)
	}
}

func TestMemory(t *testing.T) {
	if n, err := host.Memory(os.Getpid()); err != nil || n < 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestMachine(t *testing.T) {
	m := host.Machine()
	if m.CPUs < 1 || m.Memory < 1<<20 || m.Kernel == "" {
		t.Errorf("the machine is %+v", m)
	}
	if a := host.Available(); a > m.Memory {
		t.Errorf("%d bytes are available of %d", a, m.Memory)
	}
	if b := host.Build(); b.Go != runtime.Version() {
		t.Errorf("built with %q", b.Go)
	}
}
