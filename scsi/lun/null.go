package lun

import (
	"context"
	"fmt"

	"minisrp/verbs/arena"
)

// Null is a store that forgets what it is given and reads as zeros: what a unit on it costs is the transport.
type Null struct {
	info   Info
	memory *arena.Arena // MaxTransfer zeros that nobody writes, then as many bytes that nobody reads
}

var (
	_ Mapped = (*Null)(nil)
	_ Sparse = (*Null)(nil)
)

// NewNull makes a null store of size bytes in blocks of blockSize. It takes 2*MaxTransfer of memory whatever its
// size. Errors: ErrGeometry; no memory.
//
//level:passive
func NewNull(size uint64, blockSize uint32) (*Null, error) {
	info := Info{Kind: "null", Size: size, BlockSize: blockSize, Granularity: blockSize}
	if err := info.Check(); err != nil {
		return nil, err
	}
	a, err := arena.New(2 * MaxTransfer)
	if err != nil {
		return nil, fmt.Errorf("null store: %w", err)
	}
	return &Null{info: info, memory: a}, nil
}

func (s *Null) Info() Info { return s.info }

// Mapping leads every read to the start of the zeros, and every write to the start of the sink.
func (s *Null) Mapping() Mapping {
	return Mapping{Memory: s.memory, Save: Window{Base: MaxTransfer}}
}

func (s *Null) Read(ctx context.Context, p [][]byte, off uint64) error {
	for _, b := range p {
		clear(b)
	}
	return nil
}

func (s *Null) Write(ctx context.Context, p [][]byte, off uint64, fua bool) error { return nil }

func (s *Null) Flush(ctx context.Context) error { return nil }

func (s *Null) Unmap(ctx context.Context, off, n uint64) error { return nil }

func (s *Null) Zero(ctx context.Context, off, n uint64, hole bool) error { return nil }

// Extent says that nothing takes space.
func (s *Null) Extent(ctx context.Context, off uint64) (hole bool, n uint64, err error) {
	return true, s.info.Size - off, nil
}

func (s *Null) Close(ctx context.Context) error { return s.memory.Close() }
