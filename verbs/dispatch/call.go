package dispatch

import "context"

// Call runs fn on p and waits for it, for Passive code that has to touch what p
// serialises. What was queued to p before has run when it returns nil. When ctx ends
// first its error is returned, and fn still runs later. It must not be called at
// Dispatch.
func (p *Processor) Call(ctx context.Context, fn Func) error {
	AssertPassive()
	done := make(chan struct{})
	d := new(DPC) // stays queued when ctx ends first
	d.Init(p, func(f *Frame) {
		fn(f)
		close(done)
	})
	d.Post()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run is Call without an end to the wait.
//
//level:passive
func (p *Processor) Run(fn Func) { _ = p.Call(context.Background(), fn) }
