package nbd_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

const mib = 1 << 20

// Section numbers and names are those of the NBD protocol document (proto.md).

// The transmission flags tell what the disk can do and nothing else.
func TestTransmissionFlags(t *testing.T) {
	const base = 1<<0 | 1<<2 | 1<<8 // HAS_FLAGS, SEND_FLUSH, CAN_MULTI_CONN
	for _, c := range []struct {
		name     string
		info     nbd.Info
		readOnly bool
		style    style
		want     uint16
	}{
		{"bare", nbd.Info{}, false, simple, base},
		{"structured", nbd.Info{}, false, structured, base | 1<<7},
		{"extended", nbd.Info{}, false, extended, base | 1<<7},
		{"fua", nbd.Info{CanFUA: true}, false, simple, base | 1<<3},
		{"trim", nbd.Info{CanUnmap: true}, false, simple, base | 1<<5},
		{"zeroes, fast or not at all", nbd.Info{CanWriteZeroes: true}, false, simple, base | 1<<6 | 1<<11},
		{"cache", nbd.Info{CanCache: true}, false, simple, base | 1<<10},
		{"rotational", nbd.Info{Rotational: true}, false, simple, base | 1<<4},
		{"read-only disk", nbd.Info{ReadOnly: true, CanFUA: true, CanUnmap: true, CanWriteZeroes: true}, false, simple, base | 1<<1},
		{"read-only export", nbd.Info{CanFUA: true, CanUnmap: true}, true, structured, base | 1<<1 | 1<<7},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.info.Size, c.info.LogicalBlock = mib, 512
			s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, c.info), ReadOnly: c.readOnly})
			size, flags := s.dial(t).enter("x", c.style)
			if size != mib || flags != c.want {
				t.Errorf("size %d, flags %#x; want %d, %#x", size, flags, mib, c.want)
			}
		})
	}
}

func TestExportName(t *testing.T) {
	for _, c := range []struct {
		flags uint32
		tail  int
	}{{3, 0}, {1, 124}, {0, 124}, {2, 0}} {
		t.Run(fmt.Sprintf("flags=%d", c.flags), func(t *testing.T) {
			s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))})
			k := s.dial(t)
			k.greet(c.flags)
			// A client may send its first request without waiting for the answer.
			k.send("IHAVEOPT", uint32(1), uint32(1), "x", uint32(0x25609513), uint16(0), uint16(flush), uint64(7), uint64(0), uint32(0))
			b := k.recv(10 + c.tail)
			if got := binary.BigEndian.Uint64(b); got != mib {
				t.Errorf("size is %d", got)
			}
			k.want(0, 7)
			k.request(0, disc, 0, 0, 0)
			k.eof()
		})
	}
}

func TestExportNameUnknownCloses(t *testing.T) {
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))})
	k := s.dial(t)
	k.greet(3)
	k.option(1, "nosuch")
	k.eof()
	eventually(t, "a log line that names it", func() bool { return strings.Contains(s.log.String(), "nosuch") })
}

func TestInfo(t *testing.T) {
	info := nbdtest.Disk(64 * mib)
	info.LogicalBlock, info.PhysicalBlock = 512, 16384
	s := serve(t, nbd.Config{},
		nbd.Export{Name: "a", Description: "first", Backend: ram(t, nbdtest.Disk(mib))},
		nbd.Export{Name: "b", Description: "second", Backend: ram(t, info)})
	k := s.dial(t)
	k.greet(3)
	k.option(6, uint32(1), "b", uint16(3), uint16(1), uint16(2), uint16(1))
	got := map[uint16][]byte{}
	for {
		kind, d := k.reply(6)
		if kind == 1 {
			break
		}
		if kind != 3 {
			t.Fatalf("INFO answers %#x", kind)
		}
		what := binary.BigEndian.Uint16(d)
		if got[what] != nil {
			t.Errorf("information %d came twice", what)
		}
		got[what] = d[2:]
	}
	if string(got[1]) != "b" || string(got[2]) != "second" {
		t.Errorf("name %q, description %q", got[1], got[2])
	}
	want, _ := binary.Append(nil, binary.BigEndian, []uint32{512, 16384, 32 << 20})
	if !bytes.Equal(got[3], want) {
		t.Errorf("block sizes %x, want %x", got[3], want)
	}
	// INFO leaves the negotiation where it was.
	k.option(3)
	for _, want := range []string{"a", "b"} {
		d := k.wantReply(3, 2)
		if n := binary.BigEndian.Uint32(d); string(d[4:][:n]) != want {
			t.Errorf("LIST gives %q, want %q", d, want)
		}
	}
	k.wantReply(3, 1)
	k.option(2)
	k.wantReply(2, 1)
	k.eof()
}

// The empty name is the only export, when there is one.
func TestDefaultExport(t *testing.T) {
	one := serve(t, nbd.Config{}, nbd.Export{Name: "only", Backend: ram(t, nbdtest.Disk(mib))})
	if size, _ := one.dial(t).enter("", simple); size != mib {
		t.Errorf("size is %d", size)
	}
	two := serve(t, nbd.Config{},
		nbd.Export{Name: "a", Backend: ram(t, nbdtest.Disk(mib))}, nbd.Export{Name: "b", Backend: ram(t, nbdtest.Disk(mib))})
	k := two.dial(t)
	k.greet(3)
	k.option(7, uint32(0), uint16(0))
	k.wantReply(7, 1<<31+6)
}

// What is refused leaves the negotiation going.
func TestOptionErrors(t *testing.T) {
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))})
	k := s.dial(t)
	k.greet(3)
	const unsup, invalid, unknown, tooBig, extHeader = 1<<31 + 1, 1<<31 + 3, 1<<31 + 6, 1<<31 + 9, 1<<31 + 10
	for _, c := range []struct {
		name string
		opt  uint32
		data []any
		want uint32
	}{
		{"STARTTLS", 5, nil, unsup},
		{"extended headers with data", 11, []any{"x"}, invalid},
		{"unknown option", 4711, []any{"data"}, unsup},
		{"list with data", 3, []any{"x"}, invalid},
		{"structured reply with data", 8, []any{"x"}, invalid},
		{"contexts before structured replies", 10, []any{uint32(1), "x", uint32(0)}, invalid},
		{"GO without data", 7, nil, invalid},
		{"GO with a name that is longer than the option", 7, []any{uint32(1 << 31), "x", uint16(0)}, invalid},
		{"GO with a count that is larger than the option", 7, []any{uint32(1), "x", uint16(2), uint16(3)}, invalid},
		{"GO with data after the list", 7, []any{uint32(1), "x", uint16(0), uint16(3)}, invalid},
		{"GO with a long name", 7, []any{uint32(4097), strings.Repeat("x", 4097), uint16(0)}, invalid},
		{"GO of no export", 7, []any{uint32(1), "y", uint16(0)}, unknown},
		{"INFO of no export", 6, []any{uint32(1), "y", uint16(0)}, unknown},
		{"long option", 7, []any{strings.Repeat("x", 20000)}, tooBig},
		{"list contexts, broken", 9, []any{uint32(1), "x", uint32(1), uint32(9), "base:"}, invalid},
		{"list contexts before structured replies", 9, []any{uint32(1), "x", uint32(0)}, invalid},
		{"structured replies", 8, nil, 1},
		{"list contexts of no export", 9, []any{uint32(1), "y", uint32(0)}, unknown},
		{"list other contexts", 9, []any{uint32(1), "x", uint32(1), uint32(5), "qemu:"}, 1},
		{"list contexts without a namespace", 9, []any{uint32(1), "x", uint32(1), uint32(4), "base"}, invalid},
		{"set contexts of no export", 10, []any{uint32(1), "y", uint32(0)}, unknown},
		{"set contexts", 10, []any{uint32(1), "x", uint32(0)}, 1},
		{"extended headers", 11, nil, 1},
		{"structured replies after extended headers", 8, nil, extHeader},
		{"extended headers again", 11, nil, 1},
	} {
		k.option(c.opt, c.data...)
		if got, text := k.reply(c.opt); got != c.want {
			t.Errorf("%s: reply %#x %q, want %#x", c.name, got, text, c.want)
		}
	}
}

// A negotiation that leaves the protocol is closed, counted, and logged.
func TestNegotiationBroken(t *testing.T) {
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))})
	for i, c := range []struct {
		name  string
		flags uint32
		data  []any
	}{
		{"unknown client flags", 1 << 5, nil},
		{"no magic", 3, []any{"IHAVENOT", uint32(3), uint32(0)}},
		{"long option", 3, []any{"IHAVEOPT", uint32(3), uint32(1<<20 + 1)}},
		{"long name", 3, []any{"IHAVEOPT", uint32(1), uint32(4097)}},
		{"option without fixed newstyle", 2, []any{"IHAVEOPT", uint32(3), uint32(0)}},
	} {
		k := s.dial(t)
		k.greet(c.flags)
		if c.data != nil {
			k.send(c.data...)
		}
		k.eof()
		eventually(t, c.name, func() bool { return s.Stats().Broken == uint64(i+1) })
	}
	if n := strings.Count(s.log.String(), "client broke the protocol"); n != 5 {
		t.Errorf("%d lines in the log:\n%s", n, s.log)
	}
}

func TestNegotiationTimeout(t *testing.T) {
	s := serve(t, nbd.Config{NegotiateTimeout: 20 * time.Millisecond}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))})
	k := s.dial(t)
	k.greet(3)
	k.eof()
	eventually(t, "the time-out is counted", func() bool { return s.Stats().TimedOut == 1 })
}

// Beyond the limits a client is told so, or closed, and others go on.
func TestLimits(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib))
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 3 * mib, MaxConns: 2}, nbd.Export{Name: "x", Backend: d})
	first := s.dial(t)
	first.enter("x", simple)
	second := s.dial(t)
	second.greet(3)
	second.option(7, uint32(1), "x", uint16(0))
	if text := second.wantReply(7, 1<<31+2); !strings.Contains(string(text), "memory") {
		t.Errorf("the answer is %q", text)
	}
	s.dial(t).eof()
	eventually(t, "the third is counted", func() bool { return s.Stats().Refused == 1 })
	first.request(0, flush, 1, 0, 0)
	first.want(0, 1)
	// What the first leaves is enough for the second.
	first.request(0, disc, 1, 0, 0)
	first.eof()
	eventually(t, "the first's memory is free", func() bool {
		x := s.Stats().Exports[0]
		return x.MemoryGets == x.MemoryPuts
	})
	second.option(7, uint32(1), "x", uint16(0))
	second.wantReply(7, 3)
}

func TestAddRefuses(t *testing.T) {
	s, err := nbd.NewServer(nbd.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{{"", "capacity of 0"}, {strings.Repeat("x", 5000), "want up to 4096"}} {
		err := s.Add(nbd.Export{Name: c.name, Backend: ram(t, nbd.Info{LogicalBlock: 512})})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Add gives %v, want %q", err, c.want)
		}
	}
	good := ram(t, nbdtest.Disk(mib))
	if err := s.Add(nbd.Export{Name: "x", Backend: good}); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(nbd.Export{Name: "x", Backend: good}); err == nil {
		t.Error("two exports of one name")
	}
}
