package nbd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// sparse writes a file with data in some places and holes in others.
func sparse(t *testing.T) (path string, content []byte) {
	t.Helper()
	content = make([]byte, 32*mib)
	copy(content[mib:], pattern(2*mib, 1))
	copy(content[20*mib:], pattern(64<<10, 2))
	path = filepath.Join(t.TempDir(), "sparse")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(len(content))); err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int{{mib, 3 * mib}, {20 * mib, 20*mib + 64<<10}} {
		if _, err := f.WriteAt(content[r[0]:r[1]], int64(r[0])); err != nil {
			t.Fatal(err)
		}
	}
	return path, content
}

// maps is what each client says of the disk, as offset, length, and whether there are data.
func maps(t *testing.T, uri string) map[string]string {
	t.Helper()
	all := map[string]string{}
	put := func(who string, offset, length uint64, data bool) {
		all[who] += fmt.Sprintf("%d+%d:%t ", offset, length, data)
	}
	var info []struct{ Offset, Length, Type uint64 }
	if err := json.Unmarshal([]byte(run(t, "nbdinfo", "--map", "--json", uri)), &info); err != nil {
		t.Fatal(err)
	}
	for _, e := range info {
		if e.Type != 0 && e.Type != 3 {
			t.Errorf("nbdinfo sees type %d", e.Type)
		}
		put("nbdinfo", e.Offset, e.Length, e.Type == 0)
	}
	var img []struct {
		Start, Length uint64
		Zero, Data    bool
	}
	if err := json.Unmarshal([]byte(run(t, "qemu-img", "map", "--output=json", "-f", "raw", uri)), &img); err != nil {
		t.Fatal(err)
	}
	for _, e := range img {
		if e.Zero == e.Data {
			t.Errorf("qemu-img sees zero %t, data %t", e.Zero, e.Data)
		}
		put("qemu-img", e.Start, e.Length, e.Data)
	}
	return all
}

// Holes go in and come out with each pair of programs.
func TestToolsMap(t *testing.T) {
	path, content := sparse(t)
	want := fmt.Sprintf("0+%d:false %d+%d:true %d+%d:false %d+%d:true %d+%d:false ",
		mib, mib, 2*mib, 3*mib, 17*mib, 20*mib, 64<<10, 20*mib+64<<10, 12*mib-64<<10)
	for _, in := range [][]string{
		{"nbdcopy", "--flush"}, {"qemu-img", "convert", "-n", "-f", "raw", "-O", "raw"},
	} {
		t.Run(in[0], func(t *testing.T) {
			d := ram(t, nbdtest.Disk(32*mib))
			s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: d})
			uri := s.uri("x")
			// What was there has to go.
			run(t, "qemu-io", "-f", "raw", "-c", "write -P 0xaa 0 32M", uri)
			run(t, in[0], append(in[1:], path, uri)...)
			if !bytes.Equal(d.Snapshot(), content) {
				t.Fatal("the disk holds something else")
			}
			for who, got := range maps(t, uri) {
				if got != want {
					t.Errorf("%s sees %s\nwant %s", who, got, want)
				}
			}
			// To qemu-io all of a protocol's blocks are allocated, holes too.
			if out := run(t, "qemu-io", "-f", "raw", "-c", "map", uri); !strings.Contains(out, "32 MiB") {
				t.Errorf("qemu-io says\n%s", out)
			}
			run(t, "qemu-img", "compare", "-f", "raw", "-F", "raw", path, uri)
			out := filepath.Join(t.TempDir(), "out")
			run(t, "nbdcopy", uri, out)
			if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, content) {
				t.Errorf("what comes out differs (%v)", err)
			}
			if reads := s.Stats().Exports[0]; reads.Statuses == 0 {
				t.Error("nobody has asked for holes")
			}
		})
	}
}

// A disk that cannot tell, and programs that do not ask.
func TestToolsNoMap(t *testing.T) {
	info := nbdtest.Disk(32 * mib)
	info.Extents = false
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, info)})
	want := fmt.Sprintf("0+%d:true ", 32*mib)
	got := maps(t, s.uri("x"))
	if !reflect.DeepEqual(got, map[string]string{"nbdinfo": want, "qemu-img": want}) {
		t.Errorf("%v", got)
	}
}

// The library's view: contexts, and descriptors over and over.
func TestNbdshContexts(t *testing.T) {
	const program = `
import os, nbd
h.add_meta_context("base:allocation")
h.connect_uri(os.environ["URI"])
assert h.can_meta_context("base:allocation") and h.can_cache() and h.can_fast_zero()
h.zero(1 << 20, 0)
for i in range(0, 1 << 20, 2048): h.pwrite(bytes(512), i)
seen, at = [], 0
def f(metacontext, offset, e, err):
    global at
    assert metacontext == "base:allocation" and err.value == 0 and offset == at
    for length, state in zip(e[0::2], e[1::2]):
        seen.append((length, state)); at += length
while at < 1 << 20: h.block_status((1 << 20) - at, at, f)
assert seen == [(512, 0), (1536, 3)] * 512, seen[:8]
at = 0; seen.clear()
h.block_status(1 << 20, 0, f, nbd.CMD_FLAG_REQ_ONE)
assert seen == [(512, 0)], seen
h.cache(1 << 20, 0)
h.shutdown()
`
	needsPython(t)
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))})
	t.Setenv("URI", s.uri("x"))
	run(t, python, "-m", "nbd", "-c", program)
}
