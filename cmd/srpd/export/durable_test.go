package export_test

import (
	"strings"
	"testing"

	"minisrp/cmd/srpd/export"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/scsi"
	"minisrp/scsi/disk/disktest"
)

// Every FLUSH and FUA of a client reaches the unit, as SYNCHRONIZE CACHE or as its FUA bit, and is answered after it;
// only a unit that says that it has no write cache is spared them.
func TestFlushReachesTheUnit(t *testing.T) {
	thin := func(c *disktest.Config) {
		c.Capacity.Provisioned, c.Capacity.ReadsZeros = true, true
		c.Limits = &scsi.BlockLimits{MaxUnmapBlocks: 1 << 20, MaxUnmapDescriptors: 16}
		c.Provisioning = &scsi.Provisioning{Unmap: true, UnmapByWriteSame: true, ReadZeros: 1}
	}
	const sync = "SYNCHRONIZE CACHE(10)"
	for _, c := range []struct {
		name string
		unit func(c *disktest.Config)
		want map[string]string // by request, the commands
	}{
		{"write cache, FUA bit", func(c *disktest.Config) { c.WriteCache, c.DPOFUA = true, true }, map[string]string{
			"flush": sync, "write": "WRITE(10)", "write FUA": "WRITE(10) FUA", "read FUA": "READ(10)",
			"trim FUA": "UNMAP " + sync, "zero FUA": "WRITE SAME(16) " + sync, "flush FUA": sync,
		}},
		{"write cache, no FUA bit", func(c *disktest.Config) { c.WriteCache = true }, map[string]string{
			"flush": sync, "write FUA": "WRITE(10) " + sync, "trim FUA": "UNMAP " + sync, "zero FUA": "WRITE SAME(16) " + sync,
		}},
		{"it does not say", func(c *disktest.Config) { c.NoCachingPage = true }, map[string]string{
			"flush": sync, "write FUA": "WRITE(10) " + sync,
		}},
		{"no write cache", func(c *disktest.Config) {}, map[string]string{
			"flush": "", "write FUA": "WRITE(10)", "trim FUA": "UNMAP", "zero FUA": "WRITE SAME(16)",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := disktest.Config{Capacity: scsi.Capacity{LastLBA: 2047, BlockSize: 512}, NoData: true}
			thin(&cfg)
			c.unit(&cfg)
			b, unit, _ := open(t, cfg, 1)
			k, err := nbdtest.Dial(serve(t, map[string]*export.Backend{"x": b}), "x")
			if err != nil {
				t.Fatal(err)
			}
			for request, want := range c.want {
				unit.Do(func() { unit.Record, unit.Log = true, nil })
				name, fua, _ := strings.Cut(request, " ")
				cmd := map[string]uint16{
					"read": nbdtest.Read, "write": nbdtest.Write, "flush": nbdtest.Flush, "trim": nbdtest.Trim, "zero": nbdtest.WriteZeroes,
				}[name]
				flags := uint16(0)
				if fua != "" {
					flags = nbdtest.FUA
				}
				p, n := []byte(nil), uint32(4096)
				switch name {
				case "read", "write":
					p = make([]byte, n)
				case "flush":
					n = 0
				}
				if err := k.Do(cmd, flags, 0, p, n); err != nil {
					t.Errorf("%s: %v", request, err)
				}
				var got []string
				unit.Do(func() {
					for _, e := range unit.Log {
						text := scsi.CommandName(e.CDB[:])
						if rw, err := scsi.ParseRW(e.CDB[:e.Length]); err == nil && rw.FUA {
							text += " FUA"
						}
						got = append(got, text)
					}
				})
				if s := strings.Join(got, " "); s != want {
					t.Errorf("%s became %q, want %q", request, s, want)
				}
			}
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
