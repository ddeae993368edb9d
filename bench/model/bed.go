package model

import (
	"context"
	"errors"
	"fmt"

	"minisrp/miniport"
	"minisrp/scsi/lun"
	"minisrp/test/rig"
	"minisrp/verbs/arena"
)

// Config says what a bed has.
type Config struct {
	Unit    uint64 // bytes of a lane's unit; 0 means DefaultUnit
	Buffers int    // bytes that a lane's requests have for their data; 0 means DefaultBuffers
	Lanes   int    // 0 means 1
}

const (
	// DefaultUnit is larger than what processors keep in their caches, so that a copy is one from memory.
	DefaultUnit = 1 << 30

	// DefaultBuffers is room for each of Cases.
	DefaultBuffers = 1 << 20
)

// Bed is what subjects are measured on: for each lane a stack with a ram unit, and buffers.
//
// Ownership: of who made it. Its subjects may run one after the other, on any goroutine.
type Bed struct {
	config Config
	lanes  []*lane
}

// lane is one submitter's.
type lane struct {
	rig    *rig.Rig
	unit   []byte // the ram unit's bytes
	region *miniport.Region
	buffer []byte // the region's
	free   func()
}

// New makes a bed whose memory has been touched: what the kernel, or a host below it, does at the first touch
// is not measured. Errors: no memory.
func New(ctx context.Context, c Config) (*Bed, error) {
	if c.Unit == 0 {
		c.Unit = DefaultUnit
	}
	if c.Buffers == 0 {
		c.Buffers = DefaultBuffers
	}
	b := &Bed{config: c}
	for range max(1, c.Lanes) {
		l := new(lane)
		b.lanes = append(b.lanes, l)
		if err := l.open(ctx, &c); err != nil {
			return nil, errors.Join(fmt.Errorf("bed: %w", err), b.Close(ctx))
		}
	}
	return b, nil
}

func (l *lane) open(ctx context.Context, c *Config) error {
	ram, err := lun.NewRAM(c.Unit, blockSize)
	if err != nil {
		return err
	}
	l.unit = ram.Mapping().Memory.Bytes()
	if l.rig, err = rig.New(ctx, rig.Config{Stores: []lun.Store{ram}}); err != nil {
		return err
	}
	if l.region, l.free, err = l.rig.Memory(ctx, c.Buffers); err != nil {
		return err
	}
	l.buffer = l.region.Bytes()
	warm(l.unit)
	warm(l.buffer)
	return nil
}

// warm touches each page, and changes none.
func warm(b []byte) {
	for i := 0; i < len(b); i += arena.PageSize {
		b[i] ^= 1
		b[i] ^= 1
	}
}

// Close ends the stacks and frees the memory.
func (b *Bed) Close(ctx context.Context) error {
	var errs []error
	for _, l := range b.lanes {
		if l.free != nil {
			l.free()
		}
		if l.rig != nil {
			errs = append(errs, l.rig.Close(ctx))
		}
	}
	return errors.Join(errs...)
}
