package disk_test

import (
	"testing"

	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
	"minisrp/verbs/dispatch"
)

// BenchmarkRead is a read of 4 KiB from Submit to Done, the unit of RAM included.
func BenchmarkRead(b *testing.B) {
	proc := dispatch.NewManual("bench")
	r := &rig{proc: proc}
	u := disktest.NewUnit(proc, plain())
	var d *disk.Disk
	var err error
	r.passive(func() { d, err = disk.Open(b.Context(), u, disktest.NewPort(proc), disk.Options{}) })
	if err != nil {
		b.Fatal(err)
	}
	memory, free := memory(b, 4096)
	defer free()
	q := &disk.Request{Op: disk.Read, Length: 4096, Data: memory}
	q.Done = func(f *dispatch.Frame, q *disk.Request) {}
	var f dispatch.Frame
	b.ReportAllocs()
	for b.Loop() {
		proc.Raise(&f)
		d.Submit(&f, q)
		f.Lower()
	}
	b.StopTimer()
	r.passive(func() { err = d.Close(b.Context()) })
	if err != nil || q.Err != nil {
		b.Fatal(err, q.Err)
	}
}
