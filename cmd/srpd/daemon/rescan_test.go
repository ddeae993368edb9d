package daemon

import (
	"runtime"
	"testing"

	"minisrp/scsi/disk"
	"minisrp/scsi/lun"
	"minisrp/verbs/dispatch"
)

// A unit that is detached is not served any more; one that is attached is, when the target says so at the next command
// (SPC-4, REPORTED LUNS DATA HAS CHANGED).
func TestUnitsComeAndGo(t *testing.T) {
	d, err := Start(t.Context(), config(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, d)
	port := d.embedded[0].Port()
	for range 2 {
		u, err := port.Detach(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		await(t, d, 1)
		if len(d.Exports()) != 2 {
			t.Errorf("exports %+v", d.Exports())
		}
		if err := port.Attach(t.Context(), 1, u); err != nil {
			t.Fatal(err)
		}
		await(t, d, 2)
		if x := d.Exports(); len(x) != 4 || x[2].Name != "disk1" {
			t.Errorf("exports %+v", x)
		}
	}
}

// A unit that takes the place of another is served under a name of its own, not under the other's.
func TestAnotherUnit(t *testing.T) {
	d, err := Start(t.Context(), config(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, d)
	store, err := lun.NewRAM(8<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	other, err := lun.NewUnit(d.processors[0], lun.Config{Store: store, Serial: "another"})
	if err != nil {
		t.Fatal(err)
	}
	port := d.embedded[0].Port()
	old, err := port.Detach(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := port.Attach(t.Context(), 1, other); err != nil {
		t.Fatal(err)
	}
	awaitThat(t, d, func() bool { x := d.Exports(); return len(x) == 4 && x[2].Name == "disk2" })
	if x := d.Units(); len(x) != 2 || x[1].Identity != string(lun.UnitID("another")) || x[1].Disk.Size != 8<<20 {
		t.Errorf("units %+v", x)
	}
	// And back again: it has its name.
	if _, err := port.Detach(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := port.Attach(t.Context(), 1, old); err != nil {
		t.Fatal(err)
	}
	awaitThat(t, d, func() bool { x := d.Exports(); return len(x) == 4 && x[2].Name == "disk1" })
	if err := other.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// await sends commands until n units are served.
func await(t *testing.T, d *Daemon, n int) {
	t.Helper()
	awaitThat(t, d, func() bool { return d.Served() == n })
}

// awaitThat sends commands until something is so.
func awaitThat(t *testing.T, d *Daemon, so func() bool) {
	t.Helper()
	for !so() {
		if t.Context().Err() != nil {
			t.Fatal("the test has taken too long")
		}
		done := make(chan error, 1)
		r := &disk.Request{Op: disk.WriteZeroes, Length: 4096, Done: func(_ *dispatch.Frame, r *disk.Request) { done <- r.Err }}
		err := d.processors[0].Call(t.Context(), func(f *dispatch.Frame) { d.list()[0].disk.Submit(f, r) })
		if err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
}
