package luntest

import (
	"context"

	"minisrp/scsi/lun"
)

// Op is what a store is asked for.
type Op uint8

const (
	Read Op = iota
	Write
	Flush
	Unmap
	Zero
	numOps
)

// Call is one call of a store.
type Call struct {
	Op       Op
	Off, Len uint64 // bytes; 0 for Flush
	FUA      bool   // Write
	Hole     bool   // Zero
}

// Layer is a store that looks at each call of the methods of lun.Store on its way down and up. The other layers are
// made of it.
type Layer struct {
	lun.Store

	// Before, if set, is called first. Its error is the call's result, and the store below does not see the call.
	//
	//level:passive
	Before func(ctx context.Context, c Call) error

	// After, if set, is called last, with the result, and says what the result shall be.
	//
	//level:passive
	After func(ctx context.Context, c Call, err error) error
}

// Below returns the store that the layer stands over.
func (l *Layer) Below() lun.Store { return l.Store }

func (l *Layer) do(ctx context.Context, c Call, below func() error) error {
	if l.Before != nil {
		if err := l.Before(ctx, c); err != nil {
			return err
		}
	}
	err := below()
	if l.After != nil {
		err = l.After(ctx, c, err)
	}
	return err
}

func (l *Layer) Read(ctx context.Context, p [][]byte, off uint64) error {
	return l.do(ctx, Call{Op: Read, Off: off, Len: lun.Length(p)}, func() error { return l.Store.Read(ctx, p, off) })
}

func (l *Layer) Write(ctx context.Context, p [][]byte, off uint64, fua bool) error {
	c := Call{Op: Write, Off: off, Len: lun.Length(p), FUA: fua}
	return l.do(ctx, c, func() error { return l.Store.Write(ctx, p, off, fua) })
}

func (l *Layer) Flush(ctx context.Context) error {
	return l.do(ctx, Call{Op: Flush}, func() error { return l.Store.Flush(ctx) })
}

func (l *Layer) Unmap(ctx context.Context, off, n uint64) error {
	return l.do(ctx, Call{Op: Unmap, Off: off, Len: n}, func() error { return l.Store.Unmap(ctx, off, n) })
}

func (l *Layer) Zero(ctx context.Context, off, n uint64, hole bool) error {
	c := Call{Op: Zero, Off: off, Len: n, Hole: hole}
	return l.do(ctx, c, func() error { return l.Store.Zero(ctx, off, n, hole) })
}
