package channel

import (
	"context"

	"minisrp/verbs/dispatch"
)

type port struct {
	ch   chan int
	quit chan struct{}
}

func (p *port) waits(f *dispatch.Frame) {
	p.ch <- 1               // want `\[channel\] at Dispatch: sends on a channel`
	<-p.ch                  // want `\[channel\] at Dispatch: receives from a channel`
	if v := <-p.ch; v > 0 { // want `\[channel\] at Dispatch: receives from a channel`
		return
	}
	for range p.ch { // want `\[channel\] at Dispatch: ranges over a channel`
	}
	select { // want `\[channel\] at Dispatch: a select without default waits`
	case p.ch <- 2:
	case v := <-p.ch:
		_ = v
	case <-p.quit:
	}
	select {} // want `\[channel\] at Dispatch: a select without default waits`
}

func (p *port) inner(f *dispatch.Frame) {
	select {
	case <-p.quit:
		p.ch <- 3 // want `\[channel\] at Dispatch: sends on a channel`
	default:
		<-p.ch // want `\[channel\] at Dispatch: receives from a channel`
	}
}

func (p *port) polls(f *dispatch.Frame) int {
	select {
	case p.ch <- 2:
	case v := <-p.ch:
		return v
	default:
	}
	close(p.quit)
	for range 3 {
	}
	return len(p.ch) + cap(p.ch)
}

// A literal with a frame is at Dispatch wherever it stands.
func (p *port) passive(ctx context.Context, d *dispatch.DPC) {
	<-p.ch
	d.Init(nil, func(f *dispatch.Frame) {
		<-p.ch // want `\[channel\] at Dispatch: receives from a channel`
	})
	for range p.ch {
	}
}

// What is called where it stands is part of the function around it.
func (p *port) inline(f *dispatch.Frame) {
	defer func() {
		<-p.quit // want `\[channel\] at Dispatch: receives from a channel`
	}()
	func() {
		p.ch <- 4 // want `\[channel\] at Dispatch: sends on a channel`
	}()
}
