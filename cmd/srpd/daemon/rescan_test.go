package daemon

import (
	"runtime"
	"testing"

	"minisrp/scsi/disk"
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

// await sends commands until n units are served.
func await(t *testing.T, d *Daemon, n int) {
	t.Helper()
	for d.Served() != n {
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
