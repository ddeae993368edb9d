package target_test

import (
	"context"
	"fmt"
	"net/netip"

	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// A target port on a software HCA that shows a disk in memory, and an initiator that logs in to it.
func Example() {
	ctx := context.Background()
	proc := dispatch.New("example")
	defer proc.Close()
	fabric := soft.New(soft.Config{})
	open := func(addr string) *verbs.Device {
		hca, err := fabric.Plug(soft.HCAConfig{Name: addr, Addr: netip.MustParseAddr(addr)})
		if err != nil {
			panic(err)
		}
		return verbs.Open(hca, proc, nil)
	}

	theirs, ours := open("192.0.2.2"), open("192.0.2.1")
	at := verbs.Address{Dst: netip.MustParseAddrPort("192.0.2.2:5555")}
	port, err := target.New(ctx, target.Config{Device: theirs, Processor: proc, ID: srp.IOClassR16a.PortID(3, 4)})
	if err != nil {
		panic(err)
	}
	store, err := lun.NewRAM(1<<20, 512)
	if err != nil {
		panic(err)
	}
	unit, err := lun.NewUnit(proc, lun.Config{Store: store, Serial: "example"})
	if err != nil {
		panic(err)
	}
	if err := port.Attach(ctx, 0, unit); err != nil {
		panic(err)
	}
	if err := port.Listen(ctx, at); err != nil {
		panic(err)
	}

	var op verbs.Op[*verbs.PD]
	ours.CreatePD(&op)
	pd, err := op.Wait(ctx)
	if err != nil {
		panic(err)
	}
	session, err := srp.Login(ctx, &srp.SessionConfig{
		Device: ours, PD: pd, Address: at, Target: port.ID(), Processors: []*dispatch.Processor{proc},
	})
	if err != nil {
		panic(err)
	}
	who, err := port.Sessions(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(who), "initiator with", who[0].Channels[0].Credits, "credits")

	// What was made last ends first.
	_ = session.Logout(ctx)
	var closed verbs.Op[verbs.None]
	pd.Close(&closed)
	_, _ = closed.Wait(ctx)
	_ = port.Close(ctx)
	_ = unit.Close(ctx)
	_ = ours.Close(ctx)
	fmt.Println(theirs.Close(ctx))
	// Output:
	// 1 initiator with 128 credits
	// <nil>
}
