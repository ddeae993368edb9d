package durable

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// book is a record of one window's first blocks, driven by hand.
type book struct {
	t   *testing.T
	r   *record
	seq uint64
}

func newBook(t *testing.T) *book {
	a, err := newArea(16<<20, 512, 1<<20, 1<<20, 7)
	if err != nil {
		t.Fatal(err)
	}
	return &book{t, newRecord(a, 2), 0}
}

func (b *book) issue(k kind, conn int, fua bool) *op {
	b.seq++
	o := &op{kind: k, conn: conn, fua: fua, version: version{7, 1, b.seq}, span: span{0, 2}}
	if !b.r.free(o.span) {
		b.t.Fatal("two requests at a time for a block")
	}
	b.r.issue(o)
	if b.r.free(span{1, 1}) {
		b.t.Fatal("a block with a request under way is free")
	}
	return o
}

func (b *book) do(k kind, conn int, fua bool) *op {
	o := b.issue(k, conn, fua)
	b.r.answer(o)
	return o
}

func (b *book) flush(conn int, all bool) { b.r.flushed(b.r.flushing(conn, all)) }

// content returns what block 0 holds under o.
func content(o *op) []byte {
	c := make([]byte, blockSize)
	if o.kind == written {
		o.version.fill(c, 0)
	}
	return c
}

// possible checks which of the contents block 0 may hold after a kill.
func (b *book) possible(want map[*op]bool) {
	b.t.Helper()
	for o, may := range want {
		// observe forgets, so each looks at a copy.
		h := b.r.blocks[0]
		copied := &record{area: b.r.area, blocks: []history{{versions: slices.Clone(h.versions)}}}
		_, _, v := copied.observe(0, content(o), make([]byte, blockSize))
		if (v == nil) != may {
			b.t.Errorf("%v: possible %t, want %t (%v)", o, v == nil, may, v)
		}
	}
}

func TestRecordFUA(t *testing.T) {
	b := newBook(t)
	zero := b.r.blocks[0].versions[0]
	first := b.do(written, 0, false)
	b.possible(map[*op]bool{zero: true, first: true})
	second := b.do(written, 0, true)
	third := b.issue(written, 1, true) // not answered
	b.possible(map[*op]bool{zero: false, first: false, second: true, third: true})
}

func TestRecordFlush(t *testing.T) {
	b := newBook(t)
	zero := b.r.blocks[0].versions[0]
	first := b.do(written, 0, false)
	covered := b.r.flushing(0, false)
	second := b.do(written, 0, false) // answered after the flush was sent
	b.r.flushed(covered)
	b.possible(map[*op]bool{zero: false, first: true, second: true})
	b.flush(1, false) // another connection's
	b.possible(map[*op]bool{first: true, second: true})
	b.flush(1, true)
	b.possible(map[*op]bool{first: false, second: true})
}

// TestRecordOldFlush: a flush that is answered late does not bring back what a newer request has made impossible.
func TestRecordOldFlush(t *testing.T) {
	b := newBook(t)
	first := b.do(written, 0, false)
	covered := b.r.flushing(0, true)
	second := b.do(written, 1, true)
	b.r.flushed(covered)
	b.possible(map[*op]bool{first: false, second: true})
}

// TestRecordTrim: behind a trim, durable or not, is zeros or what was there.
func TestRecordTrim(t *testing.T) {
	b := newBook(t)
	older := b.do(written, 0, true)
	before := b.do(written, 0, true)
	trim := b.do(trimmed, 0, true)
	b.possible(map[*op]bool{older: false, before: true, trim: true})
	zeros := b.do(zeroed, 0, false)
	b.flush(0, true)
	b.possible(map[*op]bool{before: false, zeros: true})
	after := b.do(written, 0, false)
	b.possible(map[*op]bool{before: false, zeros: true, after: true})
}

// TestRecordObserve: what is read back rules out what is newer; what was flushed after that, what is older.
func TestRecordObserve(t *testing.T) {
	b := newBook(t)
	durable := b.do(written, 0, true)
	answered := b.do(written, 0, false)
	unanswered := b.issue(written, 0, false)
	b.r.killed()
	found, lost, v := b.r.observe(0, content(answered), make([]byte, blockSize))
	if found != answered || len(lost) != 1 || lost[0] != unanswered || v != nil {
		t.Fatalf("found %v, lost %v, %v", found, lost, v)
	}
	b.possible(map[*op]bool{durable: true, answered: true, unanswered: false})
	b.r.settle()
	b.possible(map[*op]bool{durable: false, answered: true, unanswered: false})
	b.flush(0, true) // covers nothing: what was answered before the kill has been forgotten
	b.possible(map[*op]bool{durable: false, answered: true})
}

func TestRecordWhileRunning(t *testing.T) {
	b := newBook(t)
	first := b.do(written, 0, false)
	second := b.do(written, 0, false)
	scratch := make([]byte, blockSize)
	if b.r.current(0, content(second), scratch) != nil || b.r.current(0, content(first), scratch) == nil {
		t.Error("a read must see the newest write, and nothing else")
	}
	b.do(trimmed, 0, false)
	if b.r.current(0, content(second), scratch) != nil || b.r.current(0, zeroBlock[:], scratch) != nil || b.r.current(0, content(first), scratch) == nil {
		t.Error("a read behind a trim must see zeros or what was there")
	}
	b.do(zeroed, 0, false)
	if b.r.current(0, content(second), scratch) == nil || b.r.current(0, zeroBlock[:], scratch) != nil {
		t.Error("a read behind write zeroes must see zeros")
	}
}

// TestBlockDamage: no change of a byte, and no other block or version, passes for the block.
func TestBlockDamage(t *testing.T) {
	v := version{7, 3, 99}
	good, scratch := make([]byte, blockSize), make([]byte, blockSize)
	v.fill(good, 5)
	if !v.matches(good, 5, scratch) || v.matches(good, 6, scratch) {
		t.Fatal("the block's number does not count")
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x10
		if v.matches(bad, 5, scratch) {
			t.Errorf("byte %d does not count", i)
		}
		if d := describe(bad, 5, 7); d == describe(good, 5, 7) {
			t.Errorf("byte %d changed is described as %s", i, d)
		}
	}
	for text, b := range map[string][]byte{
		"write 99 of round 3 for offset 2560": good,
		"torn":                                append(slices.Clone(good[:256]), zeroBlock[256:]...),
		"garbage":                             append(slices.Clone(zeroBlock[:256]), good[256:]...),
		"zeros":                               zeroBlock[:],
	} {
		if d := describe(b, 4, 7); !strings.Contains(d, text) {
			t.Errorf("%q, want %q", d, text)
		}
	}
	if d := describe(good, 5, 8); d != "write 99 of round 3 of another run" {
		t.Error(d)
	}
}

// TestArea: requests lie inside one window and on the device, and reach all of it.
func TestArea(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		size        uint64
		least, most uint32
		bytes       uint64
	}{
		{1 << 30, 1, 32 << 20, 32 << 20},
		{1 << 30, 4096, 128 << 10, 32 << 20},
		{1<<20 + 512, 512, 32 << 20, 32 << 20},
		{16 << 20, 64 << 10, 1 << 20, 16 << 20},
	} {
		a, err := newArea(c.size, c.least, c.most, c.bytes, 1)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]bool, a.blocks())
		for range 200000 {
			s := a.pick(rng)
			first, last := a.number(s.first), a.number(s.first+s.count-1)
			if last-first != s.count-1 || (last+1)*blockSize > c.size || s.count*blockSize > uint64(c.most) || s.count == 0 ||
				first*blockSize%uint64(c.least) != 0 || s.count*blockSize%uint64(c.least) != 0 {
				t.Fatalf("%+v: %+v is at %d to %d", c, s, first, last)
			}
			for i := range s.count {
				seen[s.first+i] = true
			}
		}
		if i := slices.Index(seen, false); i >= 0 {
			t.Errorf("%+v: block %d of %d is never reached", c, i, len(seen))
		}
	}
	for _, size := range []uint64{0, 4096, 32 << 10} {
		if _, err := newArea(size, 1, 32<<20, 32<<20, 1); err == nil {
			t.Errorf("%d bytes are enough", size)
		}
	}
}
