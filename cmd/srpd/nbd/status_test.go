package nbd_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"sync/atomic"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/scsi/disk"
	"minisrp/verbs/dispatch"
)

// extent is a descriptor of BLOCK_STATUS.
type extent struct{ length, state uint64 }

const (
	data = 0
	hole = 3 // and zero
)

// selectContext selects base:allocation and returns its ID.
func (c *client) selectContext(export string) uint32 {
	c.Helper()
	c.option(10, uint32(len(export)), export, uint32(1), uint32(15), "base:allocation")
	d := c.wantReply(10, 4)
	if string(d[4:]) != "base:allocation" {
		c.Fatalf("selected %q", d[4:])
	}
	c.wantReply(10, 1)
	return binary.BigEndian.Uint32(d)
}

// extents reads the reply to a BLOCK_STATUS.
func (c *client) extents(id uint32, cookie uint64) (all []extent) {
	c.Helper()
	a := c.answer(0)
	if a.errno != 0 || a.cookie != cookie {
		c.Fatalf("error %d %q to cookie %#x", a.errno, a.text, a.cookie)
	}
	if got := binary.BigEndian.Uint32(a.data); got != id {
		c.Fatalf("context %d, want %d", got, id)
	}
	switch b := a.data[4:]; {
	case a.kind == kindStatus && c.style == structured:
		for ; len(b) > 0; b = b[8:] {
			all = append(all, extent{uint64(binary.BigEndian.Uint32(b)), uint64(binary.BigEndian.Uint32(b[4:]))})
		}
	case a.kind == kindStatusExt && c.style == extended:
		n := binary.BigEndian.Uint32(b)
		for b = b[4:]; len(b) > 0; b = b[16:] {
			all = append(all, extent{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])})
		}
		if int(n) != len(all) {
			c.Fatalf("%d descriptors, %d says the chunk", len(all), n)
		}
	default:
		c.Fatalf("reply of kind %d in style %v", a.kind, c.style)
	}
	return all
}

// NBD_CMD_BLOCK_STATUS, NBD_REPLY_TYPE_BLOCK_STATUS and …_EXT.
func TestBlockStatus(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib), opts...)})
		for _, y := range []style{structured, extended} {
			k := s.dial(t)
			k.greet(3)
			k.agree(y)
			id := k.selectContext("x")
			k.start("x")
			k.request(0, zeroes, 1, 0, mib)
			k.want(0, 1)
			k.request(0, write, 1, 4096, 8192, make([]byte, 8192))
			k.want(0, 1)
			k.request(noHole, zeroes, 1, 512<<10, 1024)
			k.want(0, 1)
			for _, c := range []struct {
				flags      uint16
				at, length uint64
				want       []extent
			}{
				{0, 0, mib, []extent{{4096, hole}, {8192, data}, {512<<10 - 12288, hole}, {1024, data}, {512<<10 - 1024, hole}}},
				{0, 8192, 8192, []extent{{4096, data}, {4096, hole}}},
				{reqOne, 0, mib, []extent{{4096, hole}}},
				{reqOne, 512, 1024, []extent{{1024, hole}}},
				{0, 0, 1000, []extent{{512, hole}}}, // the length is a hint
				{fua, 0, 512, []extent{{512, hole}}},
			} {
				k.request(c.flags, blockStatus, 7, c.at, c.length)
				if got := k.extents(id, 7); !reflect.DeepEqual(got, c.want) {
					t.Errorf("%v, flags %d, %d bytes at %d: %v, want %v", y, c.flags, c.length, c.at, got, c.want)
				}
			}
			for _, c := range []struct {
				name       string
				flags      uint16
				at, length uint64
			}{
				{"beyond the end", 0, mib, 512}, {"over the end", 0, mib - 512, 1024}, {"of nothing", 0, 0, 0},
				{"within a block", 0, 512, 100}, {"not from a block", 0, 100, 512}, {"with another flag", noHole, 0, 512},
			} {
				k.request(c.flags, blockStatus, 8, c.at, c.length)
				if a := k.answer(0); a.errno != 22 || a.cookie != 8 {
					t.Errorf("%v, %s: error %d", y, c.name, a.errno)
				}
			}
			k.request(0, disc, 0, 0, 0)
			k.eof()
		}
	})
}

// A disk that cannot tell is all data, and not asked. More extents than a reply holds are told in several.
func TestBlockStatusLimits(t *testing.T) {
	plain := nbdtest.Disk(mib)
	plain.Extents = false
	d := ram(t, plain)
	many := ram(t, nbdtest.Disk(mib))
	s := serve(t, nbd.Config{}, nbd.Export{Name: "plain", Backend: d}, nbd.Export{Name: "many", Backend: many})
	for _, y := range []style{structured, extended} {
		k := s.dial(t)
		k.greet(3)
		k.agree(y)
		id := k.selectContext("plain")
		k.start("plain")
		k.request(0, blockStatus, 7, 0, mib)
		if got := k.extents(id, 7); !reflect.DeepEqual(got, []extent{{mib, data}}) || d.Count(disk.Status) != 0 {
			t.Errorf("%v, after %d questions", got, d.Count(disk.Status))
		}
		k = s.dial(t)
		k.greet(3)
		k.agree(y)
		id = k.selectContext("many")
		k.start("many")
		for at := uint64(0); at < mib; at += 1024 {
			k.request(0, write, at, at, 512, make([]byte, 512))
			k.want(0, at)
		}
		at, replies := uint64(0), 0
		for ; at < mib; replies++ {
			k.request(0, blockStatus, at, at, mib-at)
			for _, e := range k.extents(id, at) {
				if want := at / 512 % 2 * hole; e != (extent{512, want}) {
					t.Fatalf("%v at %d, want state %d", e, at, want)
				}
				at += e.length
			}
		}
		if replies != 2048/256 {
			t.Errorf("%d replies", replies)
		}
		// More of them at once than there are buffers for.
		for i := range uint64(20) {
			k.request(0, blockStatus, i, 0, 2048)
		}
		for range 20 {
			if a := k.answer(0); a.errno != 0 {
				t.Error(a.errno)
			}
		}
	}
	if d := s.Stats().Exports[0]; d.Statuses == 0 {
		t.Errorf("%+v", d)
	}
}

// A disk larger than 32 bits can say: compact requests are told less, extended ones everything.
func TestBlockStatusWide(t *testing.T) {
	const size = 6 << 40
	d := &giant{RAM: ram(t, nbdtest.Disk(mib)), size: size}
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: d})
	k := s.dial(t)
	k.greet(3)
	k.agree(extended)
	id := k.selectContext("x")
	k.start("x")
	k.request(0, blockStatus, 1, 0, size)
	if got := k.extents(id, 1); !reflect.DeepEqual(got, []extent{{size, data}}) {
		t.Errorf("%v", got)
	}
	for _, cmd := range []uint16{trim, zeroes, cache} {
		k.request(0, cmd, 2, 0, size)
		k.want(0, 2)
		if n := d.last.Load(); n != size {
			t.Errorf("command %d is of %d bytes", cmd, n)
		}
	}
	k.request(0, read, 3, 0, size)
	k.want(22, 3)
	k.request(0, trim, 4, 512, size)
	k.want(22, 4)
	k.request(0, trim, 5, math.MaxUint64-511, math.MaxUint64-511)
	k.want(22, 5)
	c := s.dial(t)
	c.greet(3)
	c.agree(structured)
	id = c.selectContext("x")
	c.start("x")
	c.request(0, blockStatus, 1, 5<<40, math.MaxUint32)
	if got := c.extents(id, 1); !reflect.DeepEqual(got, []extent{{math.MaxUint32 &^ 511, data}}) {
		t.Errorf("%v", got)
	}
}

// Extended headers: what of payloads there may be, and what is read over.
func TestExtendedPayloads(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib))
	s := serve(t, nbd.Config{ConnMemory: 2 * mib}, nbd.Export{Name: "x", Backend: d})
	k := s.dial(t)
	k.enter("x", extended)
	send := func(flags, cmd uint16, length uint64, payload int) {
		k.send(uint32(0x21e41c71), flags, cmd, uint64(9), uint64(0), length, make([]byte, payload))
	}
	for _, c := range []struct {
		name       string
		flags, cmd uint16
		length     uint64
		payload    int
	}{
		{"a write with an empty payload", hasPay, write, 0, 0},
		{"a read with one", hasPay, read, 4096, 4096},
		{"a flush with one", hasPay, flush, 100, 100},
		{"a block status with one", hasPay, blockStatus, 12, 12},
		{"an unknown command with one", hasPay, 99, 300 << 10, 300 << 10},
		{"an unknown command without", 0, 99, 300 << 10, 0},
	} {
		send(c.flags, c.cmd, c.length, c.payload)
		if a := k.answer(0); a.errno != 22 || a.cookie != 9 {
			t.Errorf("%s: error %d to %d", c.name, a.errno, a.cookie)
		}
	}
	// A write that has its payload and does not say so, as QEMU sends it, is understood.
	k.send(uint32(0x21e41c71), uint16(fua), uint16(write), uint64(9), uint64(4096), uint64(512), pattern(512, 3))
	k.want(0, 9)
	if !bytes.Equal(d.Snapshot()[4096:][:512], pattern(512, 3)) {
		t.Error("it was not written")
	}
	k.request(0, flush, 10, 0, 0)
	k.want(0, 10)
	for i, bad := range [][]any{
		{uint32(0x21e41c71), uint16(hasPay), uint16(write), uint64(9), uint64(0), uint64(32*mib + 1)},
		{uint32(0x25609513), uint16(0), uint16(flush), uint64(9), uint64(0), uint64(0)},
	} {
		k := s.dial(t)
		k.enter("x", extended)
		k.send(bad...)
		k.eof()
		eventually(t, "it is counted", func() bool { return s.Stats().Exports[0].Broken == uint64(i+1) })
	}
	// EXPORT_NAME cannot say what an extended client needs to know.
	e := s.dial(t)
	e.greet(3)
	e.agree(extended)
	e.option(1) // the empty name
	e.eof()
}

// NBD_OPT_LIST_META_CONTEXT and NBD_OPT_SET_META_CONTEXT.
func TestMetaContexts(t *testing.T) {
	s := serve(t, nbd.Config{},
		nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))}, nbd.Export{Name: "y", Backend: ram(t, nbdtest.Disk(mib))})
	k := s.dial(t)
	k.greet(3)
	k.agree(structured)
	ask := func(opt uint32, queries ...string) (n int) {
		all := []any{uint32(1), "x", uint32(len(queries))}
		for _, q := range queries {
			all = append(all, uint32(len(q)), q)
		}
		k.option(opt, all...)
		for {
			kind, d := k.reply(opt)
			switch {
			case kind == 1:
				return n
			case kind != 4 || string(d[4:]) != "base:allocation":
				t.Fatalf("reply %#x %q", kind, d)
			}
			n++
		}
	}
	for _, c := range []struct {
		queries   []string
		list, set int
	}{
		{nil, 1, 0},
		{[]string{"base:"}, 1, 0},
		{[]string{"base:allocation"}, 1, 1},
		{[]string{"base:allocation", "base:allocation", "base:"}, 1, 1},
		{[]string{"base:other", "qemu:dirty-bitmap:x", ":", "other:allocation"}, 0, 0},
	} {
		if n := ask(9, c.queries...); n != c.list {
			t.Errorf("LIST %q: %d contexts", c.queries, n)
		}
		if n := ask(10, c.queries...); n != c.set {
			t.Errorf("SET %q: %d contexts", c.queries, n)
		}
	}
	// What counts is the last choice, and for the export that it was about.
	for _, c := range []struct {
		name  string
		after func(k *client)
		ok    bool
	}{
		{"chosen", func(k *client) {}, true},
		{"for another export", func(k *client) { k.selectContext("y") }, false},
		{"given up", func(k *client) { k.option(10, uint32(1), "x", uint32(0)); k.wantReply(10, 1) }, false},
		{"failed", func(k *client) { k.option(10, uint32(1), "z", uint32(0)); k.wantReply(10, 1<<31+6) }, false},
	} {
		k := s.dial(t)
		k.greet(3)
		k.agree(structured)
		k.selectContext("x")
		c.after(k)
		k.start("x")
		k.request(0, blockStatus, 1, 0, 512)
		if a := k.answer(0); a.errno == 0 != c.ok {
			t.Errorf("%s: error %d", c.name, a.errno)
		}
	}
}

// giant is a disk that says that it is larger than it is.
type giant struct {
	*nbdtest.RAM
	size uint64
	last atomic.Uint64 // length of the last request
}

// Submit implements nbd.Backend. Level: Dispatch.
func (g *giant) Submit(f *dispatch.Frame, r *disk.Request) {
	if r.Op != disk.Flush {
		g.last.Store(r.Length)
		r.Offset, r.Length = 0, 512
	}
	g.RAM.Submit(f, r)
}

func (g *giant) Info() nbd.Info {
	i := g.RAM.Info()
	i.Size, i.Extents = g.size, false
	return i
}
