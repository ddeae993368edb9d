package miniport_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// A port with an SRP adapter on an HCA in software logs in to a target in the same
// process, looks for its units, and asks each whether it is ready.
func Example() {
	ctx := context.Background()
	p := dispatch.New("example")
	defer p.Close()
	fabric := soft.New(soft.Config{})
	here, there := device(fabric, p, "192.0.2.20"), device(fabric, p, "192.0.2.10")
	defer here.Close(ctx)
	defer there.Close(ctx)
	at := verbs.Address{Dst: netip.MustParseAddrPort("192.0.2.10:5555")}
	id := srp.IOClassR16a.PortID(0x0002c90300000001, 0x0002c90300000001)
	defer startTarget(ctx, p, there, at, id)()

	port, err := miniport.New(miniport.Config{Processors: []*dispatch.Processor{p}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	defer port.Close(ctx)
	adapter := miniport.NewSRP(miniport.SRPConfig{Device: here})
	a, err := port.AddAdapter(ctx, "srp0", adapter)
	if err != nil {
		panic(err)
	}
	t, err := adapter.AddTarget(ctx, miniport.TargetConfig{
		Address: at, Port: id, Initiator: srp.IOClassR16a.PortID(0, 0x0002c90300000002),
	}, false)
	if err != nil {
		panic(err)
	}
	units, err := port.Scan(ctx, a, t)
	if err != nil {
		panic(err)
	}
	for _, u := range units {
		q := u.Inquiry()
		fmt.Println(q.VendorText(), q.ProductText(), "at LUN", u.Paths()[0].LUN())
		s := new(miniport.SRB)
		for range 2 { // a unit tells those that are new to it that it was reset
			s.CDBLength = uint8(scsi.PutTestUnitReady(&s.CDB))
			fmt.Println(u.Exec(ctx, s))
		}
	}
	// Output:
	// MINISRP ram disk at LUN 0
	// TEST UNIT READY: UNIT ATTENTION: power on, reset, or bus device reset occurred (29/00)
	// <nil>
}

func device(fabric *soft.Fabric, p *dispatch.Processor, addr string) *verbs.Device {
	hca, err := fabric.Plug(soft.HCAConfig{Name: addr, Addr: netip.MustParseAddr(addr)})
	if err != nil {
		panic(err)
	}
	return verbs.Open(hca, p, nil)
}

// startTarget starts a target port with one unit, and returns how to end it.
func startTarget(ctx context.Context, p *dispatch.Processor, d *verbs.Device, at verbs.Address, id srp.PortID) func() {
	peer, err := target.New(ctx, target.Config{Device: d, Processor: p, ID: id})
	if err != nil {
		panic(err)
	}
	ram, err := lun.NewRAM(1<<20, 512)
	if err != nil {
		panic(err)
	}
	u, err := lun.NewUnit(p, lun.Config{Store: ram, Serial: "example"})
	if err != nil {
		panic(err)
	}
	if err := peer.Attach(ctx, 0, u); err != nil {
		panic(err)
	}
	if err := peer.Listen(ctx, at); err != nil {
		panic(err)
	}
	return func() {
		peer.Close(ctx)
		u.Close(ctx)
	}
}
