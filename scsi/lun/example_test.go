package lun_test

import (
	"context"
	"fmt"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/verbs/dispatch"
)

// port is what a target keeps for a command: the task, and what becomes of it.
type port struct{ task lun.Task }

func (p *port) TaskReady(f *dispatch.Frame, t *lun.Task, v lun.Verdict) {}
func (p *port) TaskDone(f *dispatch.Frame, t *lun.Task)                 {}

// A command on a ram unit, from its CDB to its data, at Dispatch all the way.
func Example() {
	proc := dispatch.NewManual("target")
	store, err := lun.NewRAM(1<<20, 512)
	if err != nil {
		panic(err)
	}
	unit, err := lun.NewUnit(proc, lun.Config{Store: store, Serial: "example"})
	if err != nil {
		panic(err)
	}
	server := lun.NewServer(proc)
	if err := server.Attach(0, unit); err != nil {
		panic(err)
	}

	var p port
	p.task.Init(server, &p)
	t := &p.task
	t.Nexus, t.LUN, t.InLength = new(lun.Nexus), scsi.PeripheralLUN(0), 36
	inquiry := scsi.Inquiry{AllocationLength: 36}
	inquiry.Put(&t.CDB)

	var f dispatch.Frame
	proc.Raise(&f)
	if server.Prepare(&f, t) == lun.Proceed {
		data := make([]byte, t.In)
		t.Data = [][]byte{data}
		if server.Execute(&f, t) == lun.Done {
			fmt.Printf("%v, %s\n", t.Status, data[8:32])
		}
	}
	server.Release(&f, t)
	f.Lower()

	if _, err := server.Detach(0); err != nil {
		panic(err)
	}
	if err := unit.Close(context.Background()); err != nil {
		panic(err)
	}
	// Output: GOOD, MINISRP ram disk
}

// An operator takes a unit's standby path out of use. Initiators behind it hear of it, and find NOT READY there.
func ExampleUnit_SetAccess() {
	proc := dispatch.NewManual("target")
	store, err := lun.NewRAM(1<<20, 512)
	if err != nil {
		panic(err)
	}
	unit, err := lun.NewUnit(proc, lun.Config{Store: store, Serial: "example"})
	if err != nil {
		panic(err)
	}
	ports := []*lun.Server{
		lun.NewServerAt(proc, lun.Port{Relative: 1, Group: 1}),
		lun.NewServerAt(proc, lun.Port{Relative: 2, Group: 2}),
	}
	for _, s := range ports {
		if err := s.Attach(0, unit); err != nil {
			panic(err)
		}
	}
	fmt.Println(unit.SetAccess(2, scsi.AccessUnavailable))
	fmt.Println(unit.SetAccess(3, scsi.AccessUnavailable))
	for _, s := range ports {
		if _, err := s.Detach(0); err != nil {
			panic(err)
		}
	}
	if err := unit.Close(context.Background()); err != nil {
		panic(err)
	}
	// Output:
	// <nil>
	// unit "example": unavailable of target port group 3: bad unit configuration
}
