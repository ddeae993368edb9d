package durable

import (
	"fmt"
	"math/rand/v2"
)

// area is the part of the device that is written: windows of equal length, spread from its beginning to its end. Its
// blocks have numbers of their own, from 0.
type area struct {
	run      uint32   // which run of the tester; in every block
	align    uint64   // of requests, in blocks
	most     uint64   // blocks of a request
	window   uint64   // blocks of a window
	starts   []uint64 // of the windows, device blocks
	smallest uint64   // blocks of a request
}

const (
	windows      = 8
	smallRequest = 4 << 10   // bytes
	largeRequest = 256 << 10 // bytes
)

// newArea spreads an area of so many bytes over a device.
func newArea(size uint64, minBlock, maxBlock uint32, bytes uint64, run uint32) (area, error) {
	a := area{run: run, align: max(uint64(minBlock), blockSize) / blockSize}
	a.smallest = max(smallRequest/blockSize, a.align)
	a.most = min(largeRequest, uint64(maxBlock)) / blockSize
	blocks := min(size, bytes) / blockSize
	a.window = blocks / windows / a.align * a.align
	a.most = min(a.most, a.window) / a.align * a.align
	if a.window < 2*a.smallest || a.most < a.smallest {
		return a, fmt.Errorf("a device of %d bytes with blocks of %d to %d, %d of its bytes used: too small to test",
			size, minBlock, maxBlock, bytes)
	}
	last := size/blockSize - a.window
	for i := range uint64(windows) {
		a.starts = append(a.starts, last*i/(windows-1)/a.align*a.align)
	}
	return a, nil
}

func (a *area) blocks() uint64 { return a.window * windows }

// number returns the device's number for a block of the area.
func (a *area) number(block uint64) uint64 { return a.starts[block/a.window] + block%a.window }

// pick returns a random span within one window, 4 KiB to 256 KiB long, small ones as likely as large ones; half of them
// lie on multiples of 4 KiB.
func (a *area) pick(rng *rand.Rand) span {
	align := a.align
	if rng.IntN(2) == 0 {
		align = max(align, smallRequest/blockSize)
	}
	n := a.smallest << rng.IntN(7)
	n = min(n+rng.Uint64N(n), a.most) / align * align
	n = max(n, align)
	at := rng.Uint64N(a.window-n+1) / align * align
	return span{rng.Uint64N(windows)*a.window + at, n}
}
