package disk_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
	"minisrp/verbs/dispatch"
)

// Disks that share a stock take turns at it, none is without a command at its unit, and in the end all of it is back.
func TestStock(t *testing.T) {
	const disks, slots, requests = 4, 6, 20
	proc := dispatch.NewManual("test")
	port := disktest.NewPort(proc)
	passive := func(fn func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			fn()
		}()
		proc.RunUntil(done)
	}
	shared, err := disk.NewMemory(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	stock, err := disk.NewStock(t.Context(), shared, slots)
	if err != nil {
		t.Fatal(err)
	}
	data, free := memory(t, 512)
	defer free()
	type one struct {
		*disk.Disk
		unit *disktest.Unit
		done int
	}
	var all []*one
	for range disks {
		o := &one{unit: disktest.NewUnit(proc, plain())}
		passive(func() {
			o.Disk, err = disk.Open(t.Context(), o.unit, port, disk.Options{Stock: stock, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		})
		if err != nil {
			t.Fatal(err)
		}
		o.unit.Hold = true
		all = append(all, o)
	}
	submit := func(o *one, op disk.Op, n int) {
		var f dispatch.Frame
		proc.Raise(&f)
		for i := range n {
			o.Submit(&f, &disk.Request{Op: op, Offset: uint64(i) * 512, Length: 512, Data: data, Done: func(_ *dispatch.Frame, q *disk.Request) {
				if o.done++; q.Err != nil {
					t.Error(q.Err)
				}
			}})
		}
		f.Lower()
		proc.RunUntilIdle()
	}
	submit(all[0], disk.Read, requests)
	if n := len(all[0].unit.Held()); n != slots+1 {
		t.Fatalf("%d commands of the only busy disk are at its unit, want %d", n, slots+1)
	}
	for _, o := range all[1:] {
		submit(o, disk.Read, requests)
		if n := len(o.unit.Held()); n != 1 {
			t.Fatalf("%d commands of a disk that finds none in stock are at its unit, want its own", n)
		}
	}
	// The first disk's commands come back, and the others get turns.
	for i := range slots + 1 {
		all[0].unit.Finish(all[0].unit.Held()[0], nil)
		proc.RunUntilIdle()
		sum := 0
		for _, o := range all {
			if n := len(o.unit.Held()); n == 0 {
				t.Fatalf("after %d: a disk has no command at its unit", i)
			} else {
				sum += n
			}
		}
		if sum != slots+disks {
			t.Fatalf("after %d: %d commands are at the units, want %d", i, sum, slots+disks)
		}
	}
	for i, o := range all {
		if n := len(o.unit.Held()); n > 1+(slots+1)/2 {
			t.Errorf("disk %d has %d commands at its unit", i, n)
		}
	}
	finish := func(o *one) {
		o.unit.Hold = false
		for len(o.unit.Held()) > 0 {
			o.unit.Finish(o.unit.Held()[0], nil)
			proc.RunUntilIdle()
		}
	}
	for _, o := range all {
		finish(o)
	}
	for _, o := range all {
		finish(o) // what it got when others had ended
		if o.done != requests {
			t.Errorf("%d requests of a disk have ended, want %d", o.done, requests)
		}
		o.unit.Hold = true
	}
	// All of it is there again, also after disks that have waited for it.
	submit(all[1], disk.Read, requests)
	submit(all[2], disk.Read, requests)
	finish(all[2])
	finish(all[1])
	finish(all[2])
	submit(all[3], disk.Read, requests)
	if n := len(all[3].unit.Held()); n != slots+1 {
		t.Errorf("%d commands of the only busy disk are at its unit, want %d", n, slots+1)
	}
	finish(all[3])
	for _, o := range all {
		passive(func() { err = o.Close(context.Background()) })
		if err != nil {
			t.Error(err)
		}
	}
	stock.Close()
	if err := shared.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if n := port.Regions(); n != 0 {
		t.Errorf("%d regions left", n)
	}
}
