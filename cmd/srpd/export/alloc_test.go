package export_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"minisrp/cmd/srpd/export"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/test/alloc"
	"minisrp/test/rig"
)

// Nothing is allocated between the socket and a unit at the other end of the fabric, nor on the way back.
func TestNoAllocation(t *testing.T) {
	r, err := rig.New(t.Context(), rig.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	nc, err := net.Dial("unix", serve(t, map[string]*export.Backend{"x": export.New(r.Disks[0], r.Port)}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	answered := make([]byte, 256<<10)
	ask := func(out []byte, in int) {
		if _, err := nc.Write(out); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(nc, answered[:in]); err != nil {
			t.Fatal(err)
		}
	}
	ask(nil, 18)
	ask([]byte("\x00\x00\x00\x03IHAVEOPT\x00\x00\x00\x01\x00\x00\x00\x01x"), 10) // EXPORT_NAME
	for _, n := range []int{4096, 128 << 10} {
		var out []byte
		for _, command := range []uint16{nbdtest.Write, nbdtest.Read} {
			for _, v := range []any{uint32(0x25609513), uint16(0), command, uint64(1), uint64(4096), uint32(n)} {
				out, _ = binary.Append(out, binary.BigEndian, v)
			}
			if command == nbdtest.Write {
				out = append(out, make([]byte, n)...)
			}
		}
		if count := alloc.Count(50, func() { ask(out, 16+16+n) }); count != 0 {
			t.Errorf("%d bytes: %d allocations in 100 requests", n, count)
		}
	}
}
