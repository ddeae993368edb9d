package disktest

import (
	"context"
	"sync/atomic"

	"minisrp/miniport"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Port is a port without adapters. It implements disk.Port.
type Port struct {
	processors []*dispatch.Processor
	regions    atomic.Int32
}

// NewPort makes a port of the processors.
func NewPort(p ...*dispatch.Processor) *Port { return &Port{processors: p} }

// Processors returns the processors.
func (p *Port) Processors() []*dispatch.Processor { return p.processors }

// RegisterRegion makes a region of the arena.
func (p *Port) RegisterRegion(ctx context.Context, a *arena.Arena) (*miniport.Region, error) {
	p.regions.Add(1)
	return miniport.NewRegion(a), nil
}

// DeregisterRegion counts the region out.
func (p *Port) DeregisterRegion(ctx context.Context, r *miniport.Region) { p.regions.Add(-1) }

// Regions returns how many regions are registered.
func (p *Port) Regions() int { return int(p.regions.Load()) }
