// Package dispatch has the shape of the real one, as far as the checker looks at it.
package dispatch

import "time"

type Frame struct{ raised bool }

type Processor struct{}

//level:passive
func (p *Processor) Raise(f *Frame) { f.raised = true }

//level:passive
func (f *Frame) Lower() { f.raised = false }

func (f *Frame) Now() time.Duration { return 0 }

func (f *Frame) On(p *Processor) bool { return f.raised }

type DPC struct{ fn func(f *Frame) }

func (d *DPC) Init(p *Processor, fn func(f *Frame)) { d.fn = fn }

func (d *DPC) Queue(f *Frame) {}

func (d *DPC) Post() {}
