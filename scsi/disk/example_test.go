package disk_test

import (
	"context"
	"errors"
	"fmt"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// A front end makes its requests once, raises its processor, submits, and lowers: what can complete, completes on the
// way out.
func Example() {
	proc := dispatch.New("front end")
	defer proc.Close()
	unit := disktest.NewUnit(proc, disktest.Config{Capacity: scsi.Capacity{LastLBA: 8191, BlockSize: 512}})
	ctx := context.Background()
	d, err := disk.Open(ctx, unit, disktest.NewPort(proc), disk.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close(ctx)

	memory, _ := arena.New(arena.PageSize)
	defer memory.Close()
	region := miniport.NewRegion(memory) // by Port.RegisterRegion, where there is a fabric
	done := make(chan error, 1)
	r := &disk.Request{
		Op: disk.Write, Offset: 4096, Length: 4096,
		Data: []miniport.Segment{{Region: region, Length: 4096}},
		Done: func(f *dispatch.Frame, r *disk.Request) {
			select {
			case done <- r.Err:
			default:
			}
		},
	}
	submit := func() error {
		var f dispatch.Frame
		proc.Raise(&f)
		d.Submit(&f, r)
		f.Lower()
		return <-done
	}
	fmt.Println(d.Info().Size, submit())

	r.Offset = 8192 * 512
	fmt.Println(submit())

	unit.Do(func() { unit.Script(scsi.OpWrite10, disktest.Check(scsi.KeyDataProtect, scsi.ASCSpaceAllocation)) })
	r.Offset = 0
	err = submit()
	fmt.Println(err)
	fmt.Println(errors.Is(err, disk.ErrNoSpace))
	// Output:
	// 4194304 <nil>
	// beyond the end of the disk
	// WRITE(10) at LBA 0, 8 blocks: no space left on the disk (DATA PROTECT: space allocation failed write protect (27/07))
	// true
}
