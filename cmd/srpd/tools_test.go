package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
)

// exportInfo is what nbdinfo sees of an export.
type exportInfo struct {
	Name      string `json:"export-name"`
	Size      uint64 `json:"export-size"`
	ReadOnly  bool   `json:"is_read_only"`
	Rotates   bool   `json:"is_rotational"`
	Multi     bool   `json:"can_multi_conn"`
	Flush     bool   `json:"can_flush"`
	FUA       bool   `json:"can_fua"`
	Trim      bool   `json:"can_trim"`
	Zero      bool   `json:"can_zero"`
	Minimum   uint32 `json:"block_size_minimum"`
	Preferred uint32 `json:"block_size_preferred"`
	Maximum   uint32 `json:"block_size_maximum"`
}

func nbdinfo(t *testing.T, uri string) (all []exportInfo) {
	t.Helper()
	var v struct{ Exports []exportInfo }
	out := tool(t, "nbdinfo", "--json", "--list", uri)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("nbdinfo: %v\n%s", err, out)
	}
	return v.Exports
}

// units asks the daemon for its units.
func (p *proc) units() []control.Unit {
	p.t.Helper()
	out, code := p.srpctl("units", "--json")
	var v control.Units
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitcode.OK || v.Version != control.Version {
		p.t.Fatalf("srpctl units: %d, %v\n%s", code, err, out)
	}
	return v.Units
}

// counters asks the daemon for its counters.
func (p *proc) counters() *control.Counters {
	p.t.Helper()
	out, code := p.srpctl("counters", "--json")
	c := new(control.Counters)
	if err := json.Unmarshal([]byte(out), c); err != nil || code != exitcode.OK {
		p.t.Fatalf("srpctl counters: %d, %v\n%s", code, err, out)
	}
	return c
}

// Every unit is there under its name and its identity, with its size and what it can; after a restart the same.
func TestExports(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	p := start(t, state, embeddedArgs("--luns", "3")...)
	before := nbdinfo(t, p.uri(""))
	units := p.units()
	want := map[string]bool{}
	for i, u := range units {
		if u.Name != fmt.Sprint("disk", i) || u.Disk == nil || u.Disk.Size != 64<<20 || len(u.Paths) != 1 || u.Paths[0].LUN != fmt.Sprint(i) {
			t.Errorf("unit %d is %+v", i, u)
		}
		want[u.Name], want[u.Identity] = true, true
	}
	if len(before) != 6 || len(want) != 6 {
		t.Fatalf("%d exports of %d units", len(before), len(units))
	}
	for _, x := range before {
		if !want[x.Name] {
			t.Errorf("export %q is no unit's", x.Name)
		}
		x.Name = ""
		if x != (exportInfo{Size: 64 << 20, Multi: true, Flush: true, FUA: true, Trim: true, Zero: true, Minimum: 512, Preferred: 4096, Maximum: 32 << 20}) {
			t.Errorf("nbdinfo sees %+v", x)
		}
	}
	// The alias is the same disk.
	qemuIO(t, p.uri("disk1"), "write -P 0x5a 1M 64k")
	qemuIO(t, p.uri(units[1].Identity), "read -P 0x5a 1M 64k")
	p.stop()
	p = start(t, state, embeddedArgs("--luns", "3")...)
	if after := nbdinfo(t, p.uri("")); !reflect.DeepEqual(before, after) {
		t.Errorf("before\n%+v\nafter\n%+v", before, after)
	}
	qemuIO(t, p.uri("disk1"), "read -P 0x5a 1M 64k")
}

func TestReadOnly(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs("--read-only")...)
	if x := nbdinfo(t, p.uri(""))[0]; !x.ReadOnly || x.Trim || x.Zero {
		t.Errorf("nbdinfo sees %+v", x)
	}
	if out, code := output(t, exec.Command("qemu-io", "-f", "raw", "-c", "write 0 4k", p.uri("disk0"))); code == 0 {
		t.Errorf("qemu-io writes\n%s", out)
	}
	tool(t, "qemu-io", "-r", "-f", "raw", "-c", "read -P 0 0 4k", p.uri("disk0"))
}

func TestTCP(t *testing.T) {
	for given, host := range map[string]string{"0": "127.0.0.1", ":0": "127.0.0.1", "127.0.0.1:0": "127.0.0.1", "[::1]:0": "[::1]"} {
		t.Run(given, func(t *testing.T) {
			if host == "[::1]" {
				if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
					t.Skip("needs IPv6")
				}
			}
			p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs("--tcp", given)...)
			_, rest, _ := strings.Cut(p.out.String(), "  nbd://")
			uri, _, _ := strings.Cut("nbd://"+rest, "\n")
			if !strings.HasPrefix(uri, "nbd://"+host+":") {
				t.Fatalf("srpd says\n%s", p.out)
			}
			if x := nbdinfo(t, uri); len(x) != 2 {
				t.Errorf("nbdinfo sees %+v", x)
			}
			qemuIO(t, uri, "write -P 1 0 1M", "read -P 1 0 1M")
		})
	}
}

// Whatever the store, the protection and the channels, fio reads back what it wrote, nbdcopy copies, and every layer
// has counted it.
func TestTools(t *testing.T) {
	for name, args := range map[string][]string{
		"file":           nil,
		"ram":            {"--store", "ram"},
		"ram, bounce":    {"--store", "ram", "--protect", "bounce"},
		"file, region":   {"--protect", "region"},
		"file, channels": {"--channels", "2", "--queue-size", "16"},
		"ram, short":     {"--store", "ram", "--queue-size", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "file" {
				t.Skip("one is enough in short tests")
			}
			p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs(args...)...)
			jobs := "1"
			if name == "file, channels" {
				jobs = "4" // connections, on both channels
			}
			out := tool(t, "fio", "--name=verify", "--ioengine=nbd", "--uri="+p.uri("disk0"), "--rw=randrw", "--size=16m",
				"--offset_increment=16m", "--numjobs="+jobs, "--bsrange=4k-1m", "--iodepth=32", "--verify=crc32c", "--verify_fatal=1",
				"--verify_state_save=0", "--output-format=json")
			if n := strings.Count(out, `"error" : 0`); fmt.Sprint(n) != jobs {
				t.Errorf("fio says\n%s", out)
			}
			copied := filepath.Join(t.TempDir(), "copy")
			tool(t, "nbdcopy", p.uri("disk0"), copied)
			tool(t, "qemu-img", "compare", "-f", "raw", "-F", "raw", copied, p.uri("disk0"))
			tool(t, "qemu-img", "bench", "-f", "raw", "-t", "none", "-c", "2000", "-w", "--flush-interval=64", "-d", "32", p.uri("disk0"))
			tool(t, "qemu-img", "bench", "-f", "raw", "-t", "none", "-c", "100", "-s", "1M", "-d", "32", p.uri("disk0"))
			checkCounters(t, p)
		})
	}
}

// checkCounters holds that what was taken was given back, and that the layers agree.
func checkCounters(t *testing.T, p *proc) {
	t.Helper()
	c := p.counters()
	if len(c.Disks) != 1 || len(c.Units) != 1 {
		t.Fatalf("counters are %+v", c)
	}
	d, x := c.Disks[0], c.NBD.Exports[0]
	// Long requests are served in pieces, each an operation of the disk.
	if x.Reads == 0 || x.Reads > d.Read.Ops || x.Writes == 0 || x.Writes > d.Write.Ops || x.BytesRead != d.Read.Bytes || x.BytesWritten != d.Write.Bytes {
		t.Errorf("NBD has counted %+v, the disk %+v", x, d)
	}
	if d.Flush.Ops == 0 || d.Commands < d.Read.Ops || d.Commands != d.Completed || c.Units[0].InFlight != 0 || x.Errors != 0 {
		t.Errorf("the disk has counted %+v, the port %+v", d, c.Units[0])
	}
	out, _ := p.srpctl("targets", "--json")
	var ts control.Targets
	if err := json.Unmarshal([]byte(out), &ts); err != nil || len(ts.Targets) != 1 || ts.Targets[0].State != "up" || ts.Targets[0].Logins != 1 {
		t.Fatalf("srpctl targets: %v\n%s", err, out)
	}
	var commands, responses, in uint64
	for _, ch := range ts.Targets[0].Channels {
		commands, responses, in = commands+ch.Commands, responses+ch.Responses, in+ch.BytesIn
		if ch.Late != 0 || ch.UnknownTags != 0 || ch.Commands == 0 {
			t.Errorf("a channel has counted %+v", ch)
		}
	}
	if commands < d.Commands || commands != responses || in < x.BytesRead {
		t.Errorf("the channels have counted %+v, the disk %+v", ts.Targets[0].Channels, d)
	}
}

// A null disk takes everything and reads as zeros.
func TestNull(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "state"), "--embedded", "--store", "null")
	if x := nbdinfo(t, p.uri(""))[0]; x.Size != 8<<30 {
		t.Errorf("nbdinfo sees %+v", x)
	}
	qemuIO(t, p.uri("disk0"), "write -P 1 4G 32M", "read -P 0 4G 32M", "flush")
}

func TestVersion(t *testing.T) {
	for _, path := range []string{srpdPath, srpctlPath} {
		args := []string{"version"}
		if path == srpctlPath {
			args = append(args, "--socket", filepath.Join(t.TempDir(), "none"))
		}
		out, _ := output(t, exec.Command(path, args...))
		if !strings.HasPrefix(out, filepath.Base(path)+" ") {
			t.Errorf("%s version prints %q", filepath.Base(path), out)
		}
		help, code := output(t, exec.Command(path, "--help"))
		if code != exitcode.OK || !strings.Contains(help, exitcode.Table()) {
			t.Errorf("--help: %d\n%s", code, help)
		}
	}
}
