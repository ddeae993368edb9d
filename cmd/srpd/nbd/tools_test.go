package nbd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/test/need"
)

// Programs of two other implementations of the protocol, libnbd and QEMU, and fio.

// run runs a tool and returns what it printed. A tool that is not installed skips
// the test, or fails it in CI.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), need.Tool(t, name), args...)
	cmd.Dir = t.TempDir() // fio leaves its state where it stands
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// python is the one that the system's packages are for.
const python = "/usr/bin/python3"

// needsPython ends a test whose binding of libnbd is absent.
func needsPython(t *testing.T) {
	t.Helper()
	if exec.Command(python, "-c", "import nbd").Run() != nil {
		need.Absent(t, "python3-libnbd")
	}
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
