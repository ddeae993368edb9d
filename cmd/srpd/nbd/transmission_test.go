package nbd_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/scsi/disk"
)

// each runs a test against a disk that completes on the submitter's frame and one
// that does not.
func each(t *testing.T, f func(t *testing.T, opts ...nbdtest.Option)) {
	t.Run("inline", func(t *testing.T) { f(t) })
	t.Run("async", func(t *testing.T) { f(t, nbdtest.Async()) })
}

// Lengths on both sides of each way that memory is found, and offsets in the
// receive ring that make a payload go round its end.
func TestReadWrite(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		const size = 36 * mib
		d := ram(t, nbdtest.Disk(size), opts...)
		s := serve(t, nbd.Config{ConnMemory: 2 * mib}, nbd.Export{Backend: d})
		for _, y := range []style{simple, structured, extended} {
			k := s.dial(t)
			k.enter("", y)
			model := d.Snapshot()
			at := uint64(0)
			sizes := []int{512, 4096, 61440, 64 << 10, 64<<10 - 512, 128 << 10, mib, mib + 512, 512, 3 * mib, 4096}
			if y == extended {
				sizes = append(sizes, 32*mib, 512)
			}
			for i, n := range sizes {
				p := pattern(n, byte(i))
				at = (at + uint64(n)) % (size - uint64(n)) &^ 511
				k.request(0, write, uint64(i), at, uint64(n), p)
				k.want(0, uint64(i))
				copy(model[at:], p)
				k.request(0, read, uint64(i)<<32, at, uint64(n))
				a := k.answer(n)
				if a.kind != kindData || a.cookie != uint64(i)<<32 || y != simple && a.at != at || y == extended && a.offset != at {
					t.Fatalf("%v: reply of kind %d to cookie %#x, offsets %#x and %#x", y, a.kind, a.cookie, a.offset, a.at)
				}
				if !bytes.Equal(a.data, p) {
					t.Fatalf("what was read back after a write of %d bytes at %d differs", n, at)
				}
			}
			if !bytes.Equal(d.Snapshot(), model) {
				t.Fatal("the disk holds something else than what was written")
			}
			k.request(0, disc, 0, 0, 0)
			k.eof()
		}
	})
}

// Several requests in one segment of the stream, cut at every length.
func TestPipelinedCuts(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib))
	s := serve(t, nbd.Config{ConnMemory: 2 * mib}, nbd.Export{Backend: d})
	k := s.dial(t)
	k.enter("", simple)
	var stream []byte
	for i := range 4 {
		for _, v := range []any{uint32(0x25609513), uint16(0), uint16(write), uint64(i), uint64(i) * 512, uint32(512)} {
			stream, _ = binary.Append(stream, binary.BigEndian, v)
		}
		stream = append(stream, pattern(512, byte(i))...)
	}
	for cut := 1; cut < len(stream); cut += 7 {
		k.send(stream[:cut])
		k.send(stream[cut:])
		for range 4 {
			if a := k.answer(0); a.errno != 0 {
				t.Fatalf("cut at %d: error %d", cut, a.errno)
			}
		}
	}
	for i := range 4 {
		if !bytes.Equal(d.Snapshot()[i*512:][:512], pattern(512, byte(i))) {
			t.Errorf("block %d differs", i)
		}
	}
}

// What each command becomes.
func TestCommands(t *testing.T) {
	seen := make(chan disk.Request, 1)
	d := ram(t, nbdtest.Disk(mib), nbdtest.Fault(func(r *disk.Request) error {
		select {
		case seen <- disk.Request{Op: r.Op, FUA: r.FUA, MayUnmap: r.MayUnmap, Fast: r.Fast, Offset: r.Offset, Length: r.Length}:
		default:
		}
		return nil
	}))
	s := serve(t, nbd.Config{}, nbd.Export{Backend: d})
	k := s.dial(t)
	k.enter("", structured)
	for _, c := range []struct {
		flags, cmd uint16
		n          uint64
		want       disk.Request
	}{
		{0, write, 4096, disk.Request{Op: disk.Write}},
		{fua, write, 4096, disk.Request{Op: disk.Write, FUA: true}},
		{0, trim, 8192, disk.Request{Op: disk.Unmap}},
		{fua, trim, 8192, disk.Request{Op: disk.Unmap, FUA: true}},
		{0, zeroes, 512 << 10, disk.Request{Op: disk.WriteZeroes, MayUnmap: true}},
		{noHole, zeroes, 4096, disk.Request{Op: disk.WriteZeroes}},
		{noHole | fua, zeroes, 4096, disk.Request{Op: disk.WriteZeroes, FUA: true}},
		{fast, zeroes, 4096, disk.Request{Op: disk.WriteZeroes, MayUnmap: true, Fast: true}},
		{0, cache, 4096, disk.Request{Op: disk.Prefetch}},
		{0, flush, 0, disk.Request{Op: disk.Flush}},
		// Flag FUA is for every command, says the protocol.
		{fua, flush, 0, disk.Request{Op: disk.Flush}},
		{fua, cache, 4096, disk.Request{Op: disk.Prefetch, FUA: true}},
	} {
		at := uint64(16384)
		var payload []byte
		if c.cmd == write {
			payload = pattern(int(c.n), 1)
		}
		if c.cmd == flush {
			at = 0
		}
		k.request(c.flags, c.cmd, 9, at, c.n, payload)
		k.want(0, 9)
		c.want.Offset, c.want.Length = at, c.n
		if got := <-seen; !reflect.DeepEqual(got, c.want) {
			t.Errorf("command %d, flags %d became %+v", c.cmd, c.flags, got)
		}
	}
	k.request(df, read, 10, 0, 4096)
	k.wantData(4096, 10)
	k.request(df|fua, read, 11, 0, 4096)
	k.wantData(4096, 11)
}

// Every refusal has the error that the protocol gives it, the payload of a refused
// write is read over, and the connection goes on.
func TestRefusals(t *testing.T) {
	info := nbdtest.Disk(mib)
	info.LogicalBlock = 4096
	bare := nbd.Info{Size: mib, LogicalBlock: 512}
	s := serve(t, nbd.Config{ConnMemory: 2 * mib},
		nbd.Export{Name: "rw", Backend: ram(t, info)},
		nbd.Export{Name: "ro", Backend: ram(t, info), ReadOnly: true},
		nbd.Export{Name: "bare", Backend: ram(t, bare)})
	const perm, inval, nospc, notsup = 1, 22, 28, 95
	for _, c := range []struct {
		name, export string
		flags, cmd   uint16
		at           uint64
		n            uint64
		want         uint32
	}{
		{"read past the end", "rw", 0, read, mib, 4096, inval},
		{"read over the end", "rw", 0, read, mib - 4096, 8192, inval},
		{"read far away", "rw", 0, read, 1<<64 - 4096, 8192, inval},
		{"read of nothing", "rw", 0, read, 0, 0, inval},
		{"read too long", "rw", 0, read, 0, 32<<20 + 4096, inval},
		{"read not aligned", "rw", 0, read, 512, 4096, inval},
		{"read of half a block", "rw", 0, read, 0, 512, inval},
		{"write past the end", "rw", 0, write, mib, 4096, nospc},
		{"long write past the end", "rw", 0, write, mib, 2 * mib, nospc},
		{"write not aligned", "rw", 0, write, 1, 4096, inval},
		{"write of half a block", "rw", 0, write, 0, 2048, inval},
		{"long write not aligned", "rw", 0, write, 1, mib / 2, inval},
		{"write with an unknown flag", "rw", 1 << 9, write, 0, 4096, inval},
		{"write to a read-only export", "ro", 0, write, 0, 4096, perm},
		{"long write to a read-only export", "ro", 0, write, 0, 256 << 10, perm},
		{"trim of a read-only export", "ro", 0, trim, 0, 4096, perm},
		{"zeroing of a read-only export", "ro", 0, zeroes, 0, 4096, perm},
		{"zeroing past the end", "rw", 0, zeroes, mib, 4096, nospc},
		{"trim past the end", "rw", 0, trim, mib, 4096, inval},
		{"fast zeroing that was not offered", "bare", fast, zeroes, 0, 4096, inval},
		{"fast zeroing without holes", "rw", fast | noHole, zeroes, 0, 4096, notsup},
		{"flush with a length", "rw", 0, flush, 0, 512, inval},
		{"flush with FUA that was not offered", "bare", fua, flush, 0, 0, inval},
		{"flush with a flag", "rw", df, flush, 0, 0, inval},
		{"cache that was not offered", "bare", 0, cache, 0, 512, inval},
		{"cache with a flag", "rw", df, cache, 0, 4096, inval},
		{"cache past the end", "rw", 0, cache, mib, 4096, inval},
		{"block status without a context", "rw", 0, blockStatus, 0, 4096, inval},
		{"resize", "rw", 0, resize, 2 * mib, 0, perm},
		{"unknown command", "rw", 0, 99, 0, 4096, inval},
		{"trim that was not offered", "bare", 0, trim, 0, 512, inval},
		{"zeroing that was not offered", "bare", 0, zeroes, 0, 512, inval},
		{"FUA that was not offered", "bare", fua, write, 0, 512, inval},
	} {
		for _, y := range []style{simple, structured, extended} {
			t.Run(fmt.Sprintf("%s/%v", c.name, y), func(t *testing.T) {
				k := s.dial(t)
				k.enter(c.export, y)
				var payload []byte
				if c.cmd == write {
					payload = make([]byte, c.n)
				}
				k.request(c.flags, c.cmd, 5, c.at, c.n, payload)
				k.want(c.want, 5)
				k.request(0, flush, 6, 0, 0)
				k.want(0, 6)
			})
		}
	}
}

// Errors of the disk arrive as the protocol's.
func TestDiskErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want uint32
	}{
		{unix.EIO, 5}, {unix.ENOSPC, 28}, {unix.EROFS, 1}, {unix.EINVAL, 22},
		{disk.ErrNoSpace, 28}, {disk.ErrReadOnly, 1}, {disk.ErrRange, 22}, {disk.ErrClosed, 108},
		{disk.ErrUnsupported, 5}, {disk.ErrLostWrites, 5}, {fmt.Errorf("wrapped: %w", disk.ErrMedium), 5},
		{fmt.Errorf("wrapped: %w", unix.ENOMEM), 12}, {fmt.Errorf("anything"), 5}, {unix.ESHUTDOWN, 108},
	} {
		each(t, func(t *testing.T, opts ...nbdtest.Option) {
			d := ram(t, nbdtest.Disk(mib), append(opts, nbdtest.Fault(func(r *disk.Request) error { return c.err }))...)
			s := serve(t, nbd.Config{}, nbd.Export{Backend: d})
			s.failing = true // the flush at the end as well
			k := s.dial(t)
			k.enter("", simple)
			k.request(0, read, 1, 0, 4096)
			k.want(c.want, 1)
			k.request(0, write, 2, 0, 128<<10, make([]byte, 128<<10))
			want := c.want
			if c.err == disk.ErrRange {
				want = 28 // of a write
			}
			k.want(want, 2)
			if x := s.Stats().Exports[0]; x.Errors < 1 || x.Reads != 1 || x.Writes != 1 || x.BytesRead != 0 || x.BytesWritten != 0 {
				t.Errorf("what failed is counted as %+v", x)
			}
		})
	}
}

// A client that breaks the protocol is cut off, and nobody else.
func TestBrokenClientDisturbsNobody(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib))
	s := serve(t, nbd.Config{}, nbd.Export{Backend: d})
	good := s.dial(t)
	good.enter("", simple)
	for i, c := range []struct {
		name string
		data []any
	}{
		{"bad magic", []any{uint32(0xdeadbeef), make([]byte, 24)}},
		{"write of 64 MiB", []any{uint32(0x25609513), uint16(0), uint16(write), uint64(1), uint64(0), uint32(64 << 20)}},
	} {
		bad := s.dial(t)
		bad.enter("", simple)
		bad.request(0, flush, 3, 0, 0)
		bad.want(0, 3)
		bad.send(c.data...)
		bad.eof()
		eventually(t, c.name+" is counted", func() bool { return s.Stats().Exports[0].Broken == uint64(i+1) })
		good.request(0, read, 4, 0, 512)
		good.wantData(512, 4)
	}
	if !strings.Contains(s.log.String(), "0xdeadbeef") {
		t.Errorf("the log does not say what was sent:\n%s", s.log)
	}
}
