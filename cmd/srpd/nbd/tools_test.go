package nbd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// Programs of two other implementations of the protocol, libnbd and QEMU, and fio.

// run runs a tool and returns what it printed. A tool that is not installed skips
// the test, or fails it in CI.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		needs(t, name)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = t.TempDir() // fio leaves its state where it stands
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// needs ends a test whose tool is absent.
func needs(t *testing.T, name string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("needs %s", name)
}

func (s *server) uri(name string) string {
	return nbd.URI(&net.UnixAddr{Name: s.path, Net: "unix"}, name)
}

func TestNbdinfo(t *testing.T) {
	info := nbdtest.Disk(64 * mib)
	s := serve(t, nbd.Config{},
		nbd.Export{Name: "disk 0", Description: "a disk", Backend: ram(t, info)},
		nbd.Export{Name: "ro", Backend: ram(t, nbdtest.Disk(mib)), ReadOnly: true})
	var got struct {
		Protocol  string
		Structued bool `json:"structured"`
		Exports   []struct {
			Name        string `json:"export-name"`
			Description string
			Size        uint64 `json:"export-size"`
			ReadOnly    bool   `json:"is_read_only"`
			Rotational  bool   `json:"is_rotational"`
			Multi       bool   `json:"can_multi_conn"`
			Flush       bool   `json:"can_flush"`
			FUA         bool   `json:"can_fua"`
			Trim        bool   `json:"can_trim"`
			Zero        bool   `json:"can_zero"`
			Fast        bool   `json:"can_fast_zero"`
			Cache       bool   `json:"can_cache"`
			DF          bool   `json:"can_df"`
			Min         uint32 `json:"block_size_minimum"`
			Preferred   uint32 `json:"block_size_preferred"`
			Max         uint32 `json:"block_size_maximum"`
		}
	}
	out := run(t, "nbdinfo", "--json", "--list", s.uri(""))
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Exports) != 2 || got.Protocol != "newstyle-fixed" || !got.Structued {
		t.Fatalf("nbdinfo sees %s", out)
	}
	x := got.Exports[0]
	if x.Name != "disk 0" || x.Description != "a disk" || x.Size != 64*mib || x.ReadOnly || !x.Multi || !x.Flush ||
		!x.FUA || !x.Trim || !x.Zero || !x.Fast || !x.Cache || !x.DF || x.Min != 512 || x.Preferred != 4096 || x.Max != 32*mib {
		t.Errorf("nbdinfo sees %+v", x)
	}
	if x := got.Exports[1]; x.Name != "ro" || !x.ReadOnly || x.Trim || x.Zero || x.FUA || !x.Multi {
		t.Errorf("nbdinfo sees %+v", x)
	}
	if out := run(t, "nbdinfo", "--size", s.uri("disk 0")); strings.TrimSpace(out) != fmt.Sprint(64*mib) {
		t.Errorf("size is %q", out)
	}
}

func TestNbdcopy(t *testing.T) {
	const size = 48 * mib
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(size), opts...)})
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
		data := pattern(size, 5)
		clear(data[5*mib : 9*mib])
		if err := os.WriteFile(in, data, 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, "nbdcopy", "--flush", "--connections=4", in, s.uri("x"))
		run(t, "nbdcopy", "--connections=4", "--requests=64", s.uri("x"), out)
		if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, data) {
			t.Errorf("what comes out differs from what went in (%v)", err)
		}
		// Without structured replies, in other sizes, and through the zeroing command.
		run(t, "nbdcopy", "--synchronous", "--request-size=1048576", "--destination-is-zero", in, s.uri("x"))
		run(t, "nbdcopy", "--allocated", "--request-size=33554432", in, s.uri("x"))
	})
}

func TestQemuImg(t *testing.T) {
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(32*mib))})
	raw := filepath.Join(t.TempDir(), "raw")
	if err := os.WriteFile(raw, pattern(32*mib, 2), 0o600); err != nil {
		t.Fatal(err)
	}
	uri := s.uri("x")
	run(t, "qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", raw, uri)
	run(t, "qemu-img", "compare", "-f", "raw", "-F", "raw", raw, uri)
	for _, mode := range [][]string{{"-c", "2000"}, {"-c", "2000", "-w", "--flush-interval=64", "-d", "32"}, {"-c", "50", "-s", "1M", "-w"}} {
		run(t, "qemu-img", append(append([]string{"bench", "-f", "raw", "-t", "none"}, mode...), uri)...)
	}
	if out := run(t, "qemu-nbd", "--list", "-k", s.path); !strings.Contains(out, "min block: 512") {
		t.Errorf("qemu-nbd lists %s", out)
	}
}

func TestQemuIO(t *testing.T) {
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(32*mib), nbdtest.Cached())})
	script := []string{
		"write -P 0xaa 0 1M", "write -f -P 0xbb 1M 64k", "flush", "read -P 0xaa 0 1M", "read -P 0xbb 1M 64k",
		"write -z 0 128k", "read -P 0 0 128k", "write -z -u 256k 128k", "read -P 0 256k 128k",
		"discard 512k 64k", "aio_write -P 0xcc 2M 4M", "aio_flush", "read -P 0xcc 2M 4M",
		"write -P 0xdd 1000 100", "read -P 0xdd 1000 100", // not whole blocks: qemu does what is needed
	}
	var args []string
	for _, c := range script {
		args = append(args, "-c", c)
	}
	out := run(t, "qemu-io", append(append([]string{"-f", "raw", "-t", "none"}, args...), s.uri("x"))...)
	if strings.Contains(out, "failed") || strings.Contains(out, "rror") {
		t.Errorf("qemu-io says\n%s", out)
	}
}

func TestNbdsh(t *testing.T) {
	const program = `
import os, nbd, errno
h.set_request_structured_replies(%s)
h.connect_uri(os.environ["URI"])
h.set_strict_mode(0)
assert h.get_size() == 1048576
b = os.urandom(65536)
h.pwrite(b, 4096, nbd.CMD_FLAG_FUA)
assert h.pread(65536, 4096) == b
h.trim(4096, 4096); h.zero(4096, 8192, nbd.CMD_FLAG_NO_HOLE); h.flush()
assert h.pread(4096, 8192) == bytearray(4096)
def refused(code, f):
    try: f()
    except nbd.Error as e:
        assert e.errno == code, (e, code)
    else: assert False, code
refused("EINVAL", lambda: h.pread(512, 1048576))
refused("ENOSPC", lambda: h.pwrite(bytes(512), 1048576))
refused("EINVAL", lambda: h.pwrite(bytes(100), 0))
h.cache(512, 0)
h.zero(512, 0, nbd.CMD_FLAG_FAST_ZERO)
refused("ENOTSUP", lambda: h.zero(512, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE))
refused("EINVAL", lambda: h.cache(512, 1048576))
bufs = [nbd.Buffer(4096) for i in range(200)]
cookies = [h.aio_pread(bufs[i], i * 4096) for i in range(200)]
while h.aio_in_flight() > 0: h.poll(-1)
assert all(h.aio_command_completed(c) for c in cookies)
assert bytes(bufs[2].to_bytearray()) == bytes(4096)
h.shutdown()
`
	const python = "/usr/bin/python3" // the one that the system's packages are for
	if exec.Command(python, "-c", "import nbd").Run() != nil {
		needs(t, "python3-libnbd")
	}
	for _, structured := range []string{"True", "False"} {
		s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(mib))})
		t.Setenv("URI", s.uri("x"))
		run(t, python, "-m", "nbd", "-c", fmt.Sprintf(program, structured))
	}
}

func TestFio(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(64*mib), opts...)})
		out := run(t, "fio", "--name=verify", "--ioengine=nbd", "--uri="+s.uri("x"), "--rw=randrw", "--size=64m",
			"--bsrange=4k-1m", "--iodepth=32", "--verify=crc32c", "--verify_fatal=1", "--randrepeat=1",
			"--output-format=json")
		if !strings.Contains(out, `"error" : 0`) {
			t.Errorf("fio says\n%s", out)
		}
	})
}
