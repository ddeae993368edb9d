package target_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/srp"
	"minisrp/srp/target"
)

// cut makes segments of total bytes at off, in n pieces with gaps between.
func (h *host) cut(off, total, n int) (segs []srp.Segment) {
	for i := range n {
		size := total / n
		if i == n-1 {
			size = total - size*(n-1)
		}
		segs = append(segs, h.segment(off, size))
		off += size + 64
	}
	return segs
}

func flat(segs []srp.Segment) (b []byte) {
	for _, s := range segs {
		b = append(b, s.Mem...)
	}
	return b
}

// What is written by any way that data can take comes back by any way, and nothing else changes on either side.
func TestDataComesBack(t *testing.T) {
	stores := map[string]func() lun.Store{
		"ram":       ram,
		"by worker": func() lun.Store { return luntest.Count(ram()) },
		"file": func() lun.Store {
			return must(lun.OpenFile(filepath.Join(t.TempDir(), "disk"), lun.FileOptions{Size: testSize}))
		},
	}
	configs := map[string]func(c *srp.SessionConfig){
		"window":    func(c *srp.SessionConfig) { c.ImmediateData = srp.DefaultImmediateData },
		"bounce":    func(c *srp.SessionConfig) { c.Protect, c.BounceSize = srp.ProtectBounce, lun.MaxTransfer },
		"region":    func(c *srp.SessionConfig) { c.Protect, c.DescriptorsInIU = srp.ProtectRegion, 255 },
		"ext table": func(c *srp.SessionConfig) { c.DescriptorsInIU, c.MaxSegments, c.AllowExternalTable = 2, 300, true },
	}
	for store, makeStore := range stores {
		for name, change := range configs {
			t.Run(store+"/"+name, func(t *testing.T) {
				w := newWorld(t, target.Config{}, nil)
				w.attach(0, makeStore())
				cfg := w.config()
				cfg.QueueSize = 8
				change(cfg)
				c := w.login(cfg).Channels()[0]
				w.attentions(c, 0)
				seed := 0
				for _, size := range []int{512, 4096, 8192, 12288, 65536, 131072 + 512, 1 << 20, lun.MaxTransfer} {
					for _, n := range []int{1, 3, 12, 250} {
						if n > cfg.MaxSegments && n > max(cfg.DescriptorsInIU, 12) || name == "bounce" && n > 12 || n > size/512 {
							continue
						}
						seed++
						out, in := w.init.cut(0, size, n), w.init.cut(16<<20, size, n)
						want := bytes.Clone(flat(out))
						pattern(seed, want)
						at := want
						for _, s := range out {
							at = at[copy(s.Mem, at):]
						}
						lba := uint64(seed * 7 % (testSize/testBlock - lun.MaxTransfer/testBlock + 1))
						what := fmt.Sprintf("%d bytes in %d pieces", size, n)
						clear(w.init.mem[16<<20:])
						w.newRequest(0, rw(true, lba, size), srp.DataOut, out...).start(c).good()
						r := w.newRequest(0, rw(false, lba, size), srp.DataIn, in...).start(c).good()
						if !bytes.Equal(flat(in), want) || r.Transferred != uint32(size) || r.Flags != 0 {
							t.Fatalf("%s: what was read differs from what was written; %d transferred, flags %#x", what, r.Transferred, r.Flags)
						}
						gaps := w.init.mem[16<<20:]
						for _, s := range in {
							gaps = gaps[len(s.Mem):]
							if len(gaps) < 64 || !bytes.Equal(gaps[:64], make([]byte, 64)) {
								t.Fatalf("%s: bytes beside the segments have changed", what)
							}
							gaps = gaps[64:]
						}
					}
				}
			})
		}
	}
}
