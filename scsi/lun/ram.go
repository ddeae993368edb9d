package lun

import (
	"context"
	"fmt"

	"minisrp/verbs/arena"
)

// RAM is a store in memory that is all there from the start. It is lost with the process.
type RAM struct {
	info   Info
	memory *arena.Arena
}

var _ Mapped = (*RAM)(nil)

// NewRAM makes a store of size zeros in blocks of blockSize bytes. Errors: ErrGeometry; no memory.
//
//level:passive
func NewRAM(size uint64, blockSize uint32) (*RAM, error) {
	info := Info{Kind: "ram", Size: size, BlockSize: blockSize, Granularity: max(blockSize, arena.PageSize)}
	if err := info.Check(); err != nil {
		return nil, err
	}
	if size > 1<<40 {
		return nil, fmt.Errorf("ram store of %d bytes, want at most %d: %w", size, uint64(1)<<40, ErrGeometry)
	}
	a, err := arena.New(int(size))
	if err != nil {
		return nil, fmt.Errorf("ram store: %w", err)
	}
	return &RAM{info: info, memory: a}, nil
}

func (s *RAM) Info() Info { return s.info }

// Mapping leads to the disk itself: byte i of the arena is byte i of the disk.
func (s *RAM) Mapping() Mapping {
	here := Window{Mask: ^uint64(0)}
	return Mapping{Memory: s.memory, Load: here, Save: here}
}

func (s *RAM) Read(ctx context.Context, p [][]byte, off uint64) error {
	for _, b := range p {
		off += uint64(copy(b, s.memory.Bytes()[off:]))
	}
	return nil
}

func (s *RAM) Write(ctx context.Context, p [][]byte, off uint64, fua bool) error {
	for _, b := range p {
		off += uint64(copy(s.memory.Bytes()[off:], b))
	}
	return nil
}

func (s *RAM) Flush(ctx context.Context) error { return nil }

// Unmap clears the bytes. Their pages stay: devices know their addresses.
func (s *RAM) Unmap(ctx context.Context, off, n uint64) error { return s.Zero(ctx, off, n, true) }

func (s *RAM) Zero(ctx context.Context, off, n uint64, hole bool) error {
	clear(s.memory.Bytes()[off:][:n])
	return nil
}

func (s *RAM) Close(ctx context.Context) error { return s.memory.Close() }
