package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"minisrp/bench/load"
	"minisrp/scsi/lun"
	"minisrp/test/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ram(t *testing.T, size uint64) lun.Store {
	t.Helper()
	s, err := lun.NewRAM(size, 512)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// world is units on stores, and how to run jobs at them.
type world struct {
	t *testing.T
	c load.Config
}

// newWorld makes a stack, which is closed by close: not by a cleanup, which would come after a synctest bubble.
func newWorld(t *testing.T, stores ...lun.Store) (w *world, close func()) {
	t.Helper()
	r, err := rig.New(t.Context(), rig.Config{Stores: stores})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, load.Config{Port: r.Port, Units: r.Port.Units()}}, func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// run runs a job file.
func (w *world) run(text string) *load.Report {
	w.t.Helper()
	var err error
	if w.c.Jobs, err = load.ParseFile("test", text); err != nil {
		w.t.Fatal(err)
	}
	r, err := load.Run(w.t.Context(), w.c)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// good runs a job of which nothing may fail.
func (w *world) good(text string) *load.JobReport {
	w.t.Helper()
	r := w.run(text)
	if err := r.Err(); err != nil {
		w.t.Errorf("%s: %v", text, err)
	}
	return &r.Jobs[0]
}

func TestDirections(t *testing.T) {
	w, end := newWorld(t, ram(t, 1<<20), ram(t, 2<<20))
	defer end()
	// All of the region once.
	if j := w.good("[a]\nrw=read\niodepth=3"); j.Read.IOs != 256 || j.Read.Bytes != 1<<20 || j.Requests() != 256 {
		t.Errorf("read: %+v", j)
	}
	if j := w.good("[a]\nrw=randread\nbs=512\niodepth=8"); j.Read.IOs != 2048 || j.Read.Bytes != 1<<20 {
		t.Errorf("randread: %+v", j)
	}
	if j := w.good("[a]\nrw=write\nbs=64k\nunit=0,1\niodepth=2"); j.Write.IOs != 48 || j.Write.Bytes != 3<<20 {
		t.Errorf("write: %+v", j)
	}
	if j := w.good("[a]\nrw=randwrite\nsync=1\nsize=64k\noffset=128k"); j.Write.IOs != 16 || j.Write.Latency.Count != 16 {
		t.Errorf("randwrite: %+v", j)
	}
	if j := w.good("[a]\nrw=trim\nbs=64k"); j.Trim.IOs != 16 || j.Trim.Bytes != 1<<20 {
		t.Errorf("trim: %+v", j)
	}
	if j := w.good("[a]\nrw=randtrim\nbs=64k\nnumjobs=3"); j.Trim.IOs != 48 {
		t.Errorf("randtrim: %+v", j)
	}
	if j := w.good("[a]\nrw=randrw\nrwmixread=25\nbs=512\niodepth=4"); j.Read.IOs+j.Write.IOs != 2048 || j.Read.IOs < 300 || j.Read.IOs > 700 {
		t.Errorf("randrw: %d reads, %d writes", j.Read.IOs, j.Write.IOs)
	}
	if j := w.good("[a]\nrw=rw\nrwmixread=100"); j.Read.IOs != 256 || j.Write.IOs != 0 {
		t.Errorf("rw: %+v", j)
	}
	// A flush follows every third write, but the last, after which there is nothing more.
	if j := w.good("[a]\nrw=write\nfsync=3\nnumber_ios=30\niodepth=2"); j.Write.IOs != 30 || j.Sync.IOs != 9 {
		t.Errorf("fsync: %d writes, %d flushes", j.Write.IOs, j.Sync.IOs)
	}
	if j := w.good("[a]\nrw=randread\nbsrange=4k-64k\nnorandommap\nnumber_ios=50"); j.Read.IOs == 0 || j.Read.IOs > 50 || j.Read.Bytes%4096 != 0 {
		t.Errorf("bsrange: %+v", j)
	}
	if j := w.good("[a]\nrw=randread\nbssplit=4k/50:8k/50\nnorandommap\nnumber_ios=100"); j.Read.IOs != 100 || j.Read.Bytes <= 100*4096 || j.Read.Bytes >= 100*8192 {
		t.Errorf("bssplit: %+v", j)
	}
}

// A job makes as many requests as it is told.
func TestNumber(t *testing.T) {
	w, end := newWorld(t, ram(t, 1<<20))
	defer end()
	for _, depth := range []string{"1", "7", "64"} {
		if j := w.good("[a]\nrw=randread\nnumber_ios=100\niodepth=" + depth); j.Read.IOs != 100 || j.Read.Latency.Count != 100 {
			t.Errorf("depth %s: %d requests, %d latencies, want 100", depth, j.Read.IOs, j.Read.Latency.Count)
		}
	}
	if j := w.good("[a]\nrw=randread\nnumber_ios=3\niodepth=8\nnumjobs=5"); j.Read.IOs != 15 {
		t.Errorf("five clones: %d requests, want 15", j.Read.IOs)
	}
}

func TestVerify(t *testing.T) {
	w, end := newWorld(t, ram(t, 1<<20), ram(t, 1<<20))
	defer end()
	if j := w.good("[a]\nrw=randwrite\nverify=crc32c\niodepth=8"); j.Write.IOs != 256 || j.Verify.Bytes != 1<<20 || j.Verify.IOs != 256 || j.Read.IOs != 0 {
		t.Errorf("%+v", j)
	}
	// Places come again, while others are under way, and are read meanwhile.
	if j := w.good("[a]\nrw=randrw\nverify=crc32c\niodepth=16\nbsrange=512-16k\nnorandommap\nsize=256k\nnumber_ios=300"); j.Verify.IOs == 0 {
		t.Errorf("%+v", j)
	}
	if j := w.good("[a]\nrw=write\nverify=pattern\nverify_pattern=0xdeadbeef\nbs=64k\nunit=0,1\niodepth=4"); j.Verify.Bytes != 2<<20 {
		t.Errorf("%+v", j)
	}
	if j := w.good("[a]\nrw=write\nverify=crc32c\nverify_pattern=\"text\"\nsize=256k\nnumjobs=4\noffset_increment=256k"); j.Verify.Bytes != 1<<20 {
		t.Errorf("%+v", j)
	}
}

// liar is a store that goes wrong.
type liar struct {
	lun.Store
	writes atomic.Uint64
	write  func(n uint64, p [][]byte, off uint64) (uint64, error) // where write n goes
	read   func(p [][]byte, off uint64) error
}

func (l *liar) Write(ctx context.Context, p [][]byte, off uint64, fua bool) (err error) {
	if l.write != nil {
		if off, err = l.write(l.writes.Add(1), p, off); err != nil {
			return err
		}
	}
	return l.Store.Write(ctx, p, off, fua)
}

func (l *liar) Read(ctx context.Context, p [][]byte, off uint64) error {
	if err := l.Store.Read(ctx, p, off); err != nil || l.read == nil {
		return err
	}
	return l.read(p, off)
}

// What a store does wrong is found, and said.
func TestVerifyFinds(t *testing.T) {
	for _, c := range []struct {
		name string
		lie  func(l *liar)
		want string
		kind load.Mismatch
	}{
		{"a byte flips", func(l *liar) {
			l.read = func(p [][]byte, off uint64) error {
				if off == 8192 {
					p[0][1000] ^= 4
				}
				return nil
			}
		}, "read of 4096 bytes at 8192 of unit 0: damaged", load.Damaged},
		{"a write goes to another place", func(l *liar) {
			l.write = func(n uint64, p [][]byte, off uint64) (uint64, error) {
				if off == 16384 {
					return 4096, nil
				}
				return off, nil
			}
		}, "misplaced: it was written to 16384 of unit 0", load.Misplaced},
		{"a write is lost", func(l *liar) {
			l.write = func(n uint64, p [][]byte, off uint64) (uint64, error) {
				if n == 20 { // of the second pass over 16 places
					return 1 << 19, nil
				}
				return off, nil
			}
		}, "stale: it is of write 4, the last was 20", load.Stale},
		{"a block was never written", func(l *liar) {
			l.write = func(n uint64, p [][]byte, off uint64) (uint64, error) {
				if n == 3 {
					return 1 << 19, nil
				}
				return off, nil
			}
		}, "has no header", load.Foreign},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &liar{Store: ram(t, 1<<20)}
			c.lie(l)
			w, end := newWorld(t, l)
			defer end()
			text := "[a]\nrw=write\nverify=crc32c\nsize=64k\ncontinue_on_error=1"
			if c.kind == load.Stale {
				text = "[a]\nrw=write\nverify=crc32c\nsize=64k\nnumber_ios=32\ntime_based\nruntime=1h"
			}
			r := w.run(text)
			j := &r.Jobs[0]
			found := false
			for _, f := range j.Found() {
				found = found || f.Mismatch == c.kind && strings.Contains(f.String(), c.want)
			}
			if !found || r.Err() == nil || j.Error != 1 || j.Failed == 0 {
				t.Errorf("%+v: %v", j, r.Err())
			}
		})
	}
}

// A request that fails ends the job, unless it is to go on.
func TestErrors(t *testing.T) {
	l := &liar{Store: ram(t, 1<<20), read: func(p [][]byte, off uint64) error {
		if off%16384 == 4096 {
			return errors.New("broken")
		}
		return nil
	}}
	w, end := newWorld(t, l)
	defer end()
	r := w.run("[a]\nrw=read")
	if j := r.Jobs[0]; j.Failed != 1 || j.Read.IOs != 2 || r.Err() == nil || !strings.Contains(j.Faults[0], "read of 4096 bytes at 4096 of unit 0") {
		t.Errorf("%+v", j)
	}
	if j := w.run("[a]\nrw=read\niodepth=5\ncontinue_on_error=1").Jobs[0]; j.Failed != 64 || j.Read.IOs != 256 || len(j.Faults) != 16 {
		t.Errorf("%d failed, %d requests, %d told", j.Failed, j.Read.IOs, len(j.Faults))
	}
}

// With time that stands still while anything happens, a rate is exact.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		text string
		ios  uint64
		ms   uint64
	}{
		{"[a]\nrw=randread\nrate_iops=100\nruntime=3\ntime_based\niodepth=4", 300, 3000},
		{"[a]\nrw=randread\nrate=400k\nruntime=2\ntime_based", 200, 2000},
		{"[a]\nrw=randread\nrate_iops=50\nramp_time=1\nruntime=2\ntime_based\nthinktime=20ms", 100, 2000},
		{"[a]\nrw=read\nthinktime=10ms\nnumber_ios=11", 11, 100},
		{"[a]\nrw=read\nrate_iops=10\nnumber_ios=11", 11, 1000},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, end := newWorld(t, ram(t, 1<<20))
			defer end()
			if j := w.good(c.text); j.Read.IOs != c.ios || j.Read.Runtime != c.ms {
				t.Errorf("%s: %d requests in %d ms, want %d in %d", c.text, j.Read.IOs, j.Read.Runtime, c.ios, c.ms)
			}
		})
	}
}

// Jobs run side by side, or one after the other.
func TestStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, end := newWorld(t, ram(t, 1<<20))
		defer end()
		began := time.Now()
		w.run("[global]\nrw=read\nrate_iops=1\nruntime=10\ntime_based\n[a]\n[b]")
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("side by side: %v", took)
		}
		r := w.run("[global]\nrw=read\nrate_iops=1\nruntime=10\ntime_based\n[a]\n[b]\nstonewall")
		if took := time.Since(began); took != 30*time.Second || len(r.Jobs) != 2 || r.CPU.Elapsed != 20 {
			t.Errorf("one after the other: %v, %+v", took, r)
		}
	})
}

// When the context ends, so do the jobs, and tell what they have done.
func TestCancel(t *testing.T) {
	w, end := newWorld(t, ram(t, 1<<20))
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	store := &liar{Store: ram(t, 1<<20), read: func([][]byte, uint64) error { cancel(); return nil }}
	w2, end2 := newWorld(t, store)
	defer end2()
	w.c = w2.c
	w.c.Jobs = []load.Job{load.NewJob("a")}
	for _, o := range [][2]string{{"rw", "read"}, {"runtime", "1h"}, {"time_based", ""}, {"iodepth", "4"}} {
		if err := w.c.Jobs[0].Set(o[0], o[1]); err != nil {
			t.Fatal(err)
		}
	}
	r, err := load.Run(ctx, w.c)
	if !errors.Is(err, context.Canceled) || len(r.Jobs) != 1 || r.Jobs[0].Read.IOs == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What does not fit the units is refused.
func TestRunErrors(t *testing.T) {
	w, end := newWorld(t, ram(t, 1<<20))
	defer end()
	for text, want := range map[string]string{
		"[a]\nrw=read\nunit=1":                                  "unit=1: want a unit from 0 to 0",
		"[a]\nrw=read\nsize=2M":                                 "size=2097152: want a region within unit 0",
		"[a]\nrw=read\noffset=1M":                               "want a region within",
		"[a]\nrw=read\noffset=512":                              "offset=512: want a multiple",
		"[a]\nrw=read\nsize=1k":                                 "want room for a block",
		"[a]\nrw=read\nsize=1M\nnumjobs=2\noffset_increment=4k": "clone 1 begins at 4096",
	} {
		var err error
		if w.c.Jobs, err = load.ParseFile("f", text); err != nil {
			t.Fatal(err)
		}
		_, err = load.Run(t.Context(), w.c)
		var e *load.OptionError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

// A request costs no allocation.
func TestAllocations(t *testing.T) {
	w, end := newWorld(t, ram(t, 1<<20))
	defer end()
	const n = 4000
	for _, text := range []string{
		"[a]\nrw=randrw\nverify=crc32c\niodepth=8\ntime_based\nruntime=1h\nfsync=10\nnumber_ios=",
		"[a]\nrw=trim\ntime_based\nruntime=1h\nrate_iops=100000000\nnumber_ios=",
	} {
		if w.good(text + "100"); t.Failed() {
			return
		}
		measure := func(count string) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w.good(text + count)
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs
		}
		few, many := measure("100"), measure("4000")
		if many > few+n/10 {
			t.Errorf("%s: %d allocations for 100 requests, %d for %d", text, few, many, n)
		}
	}
}

// The report's JSON has fio's names, and people get a summary.
func TestReport(t *testing.T) {
	w, end := newWorld(t, ram(t, 1<<20))
	defer end()
	r := w.run("[a]\nrw=randwrite\nverify=crc32c\npercentile_list=50:99.9")
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"jobname":"a"`, `"total_ios":256`, `"io_kbytes":1024`, `"clat_ns":{"min":`, `"percentile":{"50.000000":`, `"99.900000":`, `"usr_cpu":`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a:\n", "  write: IOPS ", "256 requests, 1M in ", "  verify: IOPS ", " 50% ", ", 99.9% ", "cpu: usr "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
