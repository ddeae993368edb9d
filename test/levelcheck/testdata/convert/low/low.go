package low

import "minisrp/verbs/dispatch"

// Hook is called at Dispatch.
//
//level:dispatch
type Hook func() // want Hook:"dispatch"

type Unit interface {
	//level:dispatch
	Blocks() uint64 // want Blocks:"dispatch"

	//level:dispatch
	Ready() bool // want Ready:"dispatch"

	Submit(f *dispatch.Frame)
}

type Device struct {
	// OnIdle is called at Dispatch.
	//
	//level:dispatch
	OnIdle func() // want OnIdle:"dispatch"

	Hooks []Hook
}

func (d *Device) Register(h Hook, more ...Hook) { d.Hooks = append(d.Hooks, h) }

func (d *Device) Attach(u Unit) {}

type Slow struct{ ch chan int }

func (s *Slow) Blocks() uint64           { <-s.ch; return 0 } // want Blocks:"blocks"
func (s *Slow) Ready() bool              { return true }
func (s *Slow) Submit(f *dispatch.Frame) {}
