package daemon

import (
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"minisrp/cmd/control"
	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp/target/access"
	"minisrp/srp/target/fault"
)

// resizable is a store whose size can be set.
type resizable struct {
	lun.Store
	size atomic.Uint64 // bytes; not more than the Store has
}

func (s *resizable) Info() lun.Info {
	i := s.Store.Info()
	i.Size = s.size.Load()
	return i
}

// event has the first embedded target say by SRP_AER_REQ that something has happened at a LUN.
func event(t *testing.T, d *Daemon, n uint64, what scsi.ASC) {
	t.Helper()
	a := fault.Action{Kind: fault.AsyncEvent, LUN: scsi.LUNFromNumber(n), ASC: what}
	if k, err := d.embedded[0].Port().Do(t.Context(), access.All(), a); err != nil || k == 0 {
		t.Fatalf("%d channels, %v", k, err)
	}
}

// eventually waits until something is so, and sends no command.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute) // much longer than it takes, on a machine that does other things too
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the test has taken too long")
		}
	}
}

// A unit comes, has another size, and goes, and no client has a command out: the target's events alone have the exports
// follow, in spite of a scan that fails at first.
func TestEventsAlone(t *testing.T) {
	d, err := Start(t.Context(), config(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, d)
	ram, err := lun.NewRAM(8<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	store := &resizable{Store: ram}
	store.size.Store(4 << 20)
	u, err := lun.NewUnit(d.processors[0], lun.Config{Store: store, Serial: "another"})
	if err != nil {
		t.Fatal(err)
	}
	port := d.embedded[0].Port()

	// The list of units cannot be read at first.
	rules, err := fault.Parse("sense=5/2000,op=0xa0,times=1")
	if err != nil {
		t.Fatal(err)
	}
	if err := port.SetFaults(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	if err := port.Attach(t.Context(), 2, u); err != nil {
		t.Fatal(err)
	}
	event(t, d, 0, scsi.ASCReportedLUNsChanged)
	eventually(t, func() bool { return d.Served() == 3 })
	if x := d.Exports(); len(x) != 6 || x[4].Name != "disk2" {
		t.Fatalf("exports %+v", x)
	}

	if rules.Hits()[0] == 0 {
		t.Error("no scan has failed")
	}

	store.size.Store(8 << 20)
	if err := u.CapacityChanged(); err != nil {
		t.Fatal(err)
	}
	event(t, d, 2, scsi.ASCCapacityChanged)
	eventually(t, func() bool { return d.Units()[2].Disk.Size == 8<<20 })
	if path, err := exec.LookPath("nbdinfo"); err == nil {
		out, err := exec.Command(path, "--size", d.Exports()[4].URIs[0]).CombinedOutput()
		if strings.TrimSpace(string(out)) != fmt.Sprint(8<<20) {
			t.Errorf("nbdinfo says %s, %v", out, err)
		}
	}

	// A user's command that is the first to hear of it takes it from nobody.
	a := &admin{d}
	for i, q := range []control.SCSI{
		{Unit: "disk2", CDB: control.Hex{0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0}, In: 8},
		{Unit: "disk2", CDB: control.Hex{0, 0, 0, 0, 0, 0}},
	} {
		size := uint64(4+i) << 20
		store.size.Store(size)
		if err := u.CapacityChanged(); err != nil {
			t.Fatal(err)
		}
		if x, err := a.SCSI(t.Context(), &q, nil); err != nil {
			t.Fatalf("%+v, %v", x, err)
		}
		eventually(t, func() bool { return d.Units()[2].Disk.Size == size })
	}

	if _, err := port.Detach(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	event(t, d, 0, scsi.ASCReportedLUNsChanged)
	eventually(t, func() bool { return len(d.Exports()) == 4 })
	if err := u.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
