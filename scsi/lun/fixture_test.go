package lun_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/test/need"
	"minisrp/verbs/dispatch"
)

func TestMain(m *testing.M) {
	if os.Getenv("LUN_TEST_FLUSHES") != "" {
		writeAndFlush(os.Getenv("LUN_TEST_FLUSHES"))
		return
	}
	goleak.VerifyTestMain(m)
}

const (
	testBlock  = 512
	testBlocks = 32 << 10 // 16 MiB
	testSize   = testBlock * testBlocks
)

func newServer() *lun.Server { return lun.NewServer(dispatch.NewManual("lun")) }

// attach makes a unit of the store at LUN n, and closes it at the end of the test.
func attach(tb testing.TB, s *lun.Server, n int, cfg lun.Config) *lun.Unit {
	tb.Helper()
	if cfg.Serial == "" {
		cfg.Serial = "test"
	}
	u, err := lun.NewUnit(s.Processor(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Attach(n, u); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := s.Detach(n); err != nil {
			tb.Error(err)
		}
		if err := u.Close(tb.Context()); err != nil { // which has ended: a task that is left is an error
			tb.Error(err)
		}
	})
	return u
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ram(size uint64) lun.Store { return must(lun.NewRAM(size, testBlock)) }

func file(tb testing.TB, size uint64) *lun.File {
	tb.Helper()
	f, err := lun.OpenFile(filepath.Join(tb.TempDir(), "disk"), lun.FileOptions{Size: size})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// withUnit runs a test on a unit of each kind that keeps data, its unit attentions cleared.
func withUnit(t *testing.T, fn func(t *testing.T, x *initiator)) {
	for name, make := range map[string]struct {
		store func(t *testing.T) lun.Store
		x     initiator
	}{
		"ram":           {store: func(t *testing.T) lun.Store { return ram(testSize) }},
		"ram immediate": {store: func(t *testing.T) lun.Store { return ram(testSize) }, x: initiator{immediate: true, piece: 4096}},
		"ram by worker": {store: func(t *testing.T) lun.Store { return luntest.Count(ram(testSize)) }, x: initiator{piece: 5000}},
		"file":          {store: func(t *testing.T) lun.Store { return file(t, testSize) }},
		"file 4k": {store: func(t *testing.T) lun.Store {
			return must(lun.OpenFile(filepath.Join(t.TempDir(), "disk"), lun.FileOptions{Size: testSize, BlockSize: testBlock}))
		}, x: initiator{piece: 4096}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			attach(t, s, 0, lun.Config{Store: make.store(t)})
			x := newInitiator(t, s)
			x.immediate, x.piece = make.x.immediate, make.x.piece
			x.attentions(0)
			fn(t, x)
		})
	}
}

// pattern returns n bytes that no other seed gives.
func pattern(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	_, _ = r.Read(b)
	return b
}

// cdb encodes a command.
func cdb(c interface{ Put(*scsi.CDB) int }) []byte {
	var b scsi.CDB
	return append([]byte(nil), b[:c.Put(&b)]...)
}

// cdb32 encodes a READ or WRITE in 32 bytes.
func cdb32(rw *scsi.RW) []byte {
	var b scsi.CDB
	if err := rw.PutSize(&b, 32); err != nil {
		panic(err)
	}
	return b[:]
}

func (x *initiator) write(lba uint64, data []byte) *command {
	return x.do(0, cdb(&scsi.RW{Write: true, LBA: lba, Blocks: uint32(len(data) / testBlock)}), data, 0)
}

func (x *initiator) read(lba uint64, n int) []byte {
	x.tb.Helper()
	c := x.do(0, cdb(&scsi.RW{LBA: lba, Blocks: uint32(n / testBlock)}), nil, n).good()
	if len(c.got) != n {
		x.tb.Fatalf("read of %d bytes at block %d gave %d", n, lba, len(c.got))
	}
	return c.got
}

// expect reads back and compares.
func (x *initiator) expect(lba uint64, want []byte) {
	x.tb.Helper()
	if got := x.read(lba, len(want)); !bytes.Equal(got, want) {
		at := 0
		for got[at] == want[at] {
			at++
		}
		x.tb.Fatalf("block %d: byte %d is %#02x, want %#02x", lba, at, got[at], want[at])
	}
}

// tool runs a standard tool on data, whose file replaces FILE in args. A missing tool skips the test, but fails it
// when CI is set.
func tool(t *testing.T, data []byte, name string, args ...string) string {
	t.Helper()
	path := need.Tool(t, name)
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range args {
		args[i] = strings.Replace(args[i], "FILE", file, 1)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
