package srp_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// A program logs in, reads a block, and logs out. The segment lies in memory that is registered with the PD.
func ExampleLogin() {
	readBlock := func(ctx context.Context, cfg *srp.SessionConfig, block srp.Segment) error {
		s, err := srp.Login(ctx, cfg)
		if err != nil {
			var r *srp.RejectError
			if errors.As(err, &r) {
				return fmt.Errorf("%w; %s", err, r.Advice())
			}
			return err
		}
		c := s.Channels()[0]
		done := make(chan error, 1)
		r := &srp.Request{
			LUN:       scsi.PeripheralLUN(0),
			CDB:       []byte{0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0}, // READ(10)
			Direction: srp.DataIn,
			Segments:  []srp.Segment{block},
			Length:    block.Length,
			Done: func(f *dispatch.Frame, r *srp.Request) {
				if r.Outcome != srp.Completed || r.Status != scsi.StatusGood {
					done <- fmt.Errorf("%v, status %v, sense % x", r.Outcome, r.Status, r.Sense)
				}
				close(done)
			},
		}
		var f dispatch.Frame
		c.Processor().Raise(&f)
		if f.On(c.Processor()) { // else it has to be left to a DPC
			err = c.Start(&f, r)
		}
		f.Lower()
		if err == nil {
			err = <-done
		}
		return errors.Join(err, s.Logout(ctx))
	}
	_ = readBlock
}

// What a user is told when the target refuses.
func ExampleRejectError() {
	err := &srp.RejectError{
		Target:  srp.IOClassR16a.PortID(0x0002c90300a1b2c3, 0x0002c90300a1b2c3),
		Channel: 1,
		CM:      verbs.RejectNoResources,
	}
	err.Address.Dst = netip.MustParseAddrPort("192.0.2.11:5555")
	fmt.Println(err)
	fmt.Println(err.Advice())
	// Output:
	// srp: login to 0x0002c90300a1b2c30002c90300a1b2c3 at 192.0.2.11:5555, channel 2, refused: no resources available (CM REJ 3)
	// the target has no free connections: lower ch_count on this host and others, or end other sessions
}

// Why a channel ended, in words.
func ExampleDownError() {
	fmt.Println(&srp.DownError{Cause: srp.CauseTargetLogout, Logout: srp.LogoutInactive})
	fmt.Println(&srp.DownError{Cause: srp.CauseTransport, Op: verbs.Send, Status: verbs.RetryExcErr})
	// Output:
	// srp: target logged the channel out: reason 1: inactive RDMA channel
	// srp: SEND failed: transport retry count exceeded
}
