package target

import (
	"context"

	"minisrp/srp/target/access"
	"minisrp/srp/target/fault"
	"minisrp/verbs/dispatch"
)

// SetFaults says what goes wrong on purpose from now on; nil for nothing. What has gone wrong stays so: a response that
// is delayed comes when it was to come. Errors: ctx's.
func (p *Port) SetFaults(ctx context.Context, l fault.Layer) error {
	return p.proc.Call(ctx, func(*dispatch.Frame) { p.faults = l })
}

// Do does something to each channel of the initiators that who names, and returns to how many. Errors: ctx's.
func (p *Port) Do(ctx context.Context, who access.Match, a fault.Action) (channels int, err error) {
	err = p.proc.Call(ctx, func(f *dispatch.Frame) {
		for c := p.channels; c != nil; c = c.next {
			if c.state == chanUp && who.Matches(c.login.Initiator, c.peer) {
				channels++
				c.act(f, &a)
				c.settle(f)
			}
		}
	})
	return channels, err
}
