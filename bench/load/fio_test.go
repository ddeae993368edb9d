package load_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/test/need"
)

// fio, with an engine that does nothing, makes as many requests of as many bytes of the same jobs, and its report has
// the fields that ours has.
func TestAsFio(t *testing.T) {
	fio := need.Tool(t, "fio")
	w, end := newWorld(t, ram(t, 1<<20))
	defer end()
	jobs := []string{
		"rw=read\nbs=4k\nsize=1M", "rw=randread\nbs=16k\niodepth=4\nsize=1M", "rw=write\nbs=64k\nsize=256k\noffset=128k",
		"rw=randwrite\nnumber_ios=100\nsize=1M", "rw=read\nnumjobs=3\nbs=8k\nsize=1M", "rw=trim\nbs=128k\nsize=1M",
		"rw=randread\nbssplit=4k/100\nsize=1M", "rw=rw\nrwmixread=100\nsize=1M", "rw=randrw\nrwmixread=0\nsize=1M",
	}
	var ours, text strings.Builder
	text.WriteString("[global]\nioengine=null\nfilesize=1M\nfilename=0\ngroup_reporting\n")
	for i, job := range jobs {
		fmt.Fprintf(&ours, "[%d]\nstonewall\n%s\n", i, job)
		fmt.Fprintf(&text, "[%d]\nstonewall\nnew_group\n%s\n", i, job)
	}
	file := filepath.Join(t.TempDir(), "jobs")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), fio, "--output-format=json", file)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", text.String(), err)
	}
	theirs := directions(t, out, len(jobs))
	if out, err = json.Marshal(w.run(ours.String())); err != nil {
		t.Fatal(err)
	}
	for i, all := range directions(t, out, len(jobs)) {
		for name, c := range all {
			for _, field := range []string{"total_ios", "io_bytes"} {
				if c[field] != theirs[i][name][field] {
					t.Errorf("%s: %s %s: %v, fio has %v", jobs[i], name, field, c[field], theirs[i][name][field])
				}
			}
			for field := range c {
				if _, ok := theirs[i][name][field]; !ok {
					t.Errorf("fio has no %s of %s", field, name)
				}
			}
		}
	}
}

// directions returns what a report says of reads, writes and trims, by job.
func directions(t *testing.T, report []byte, jobs int) (all []map[string]map[string]any) {
	t.Helper()
	var r struct {
		Jobs []struct{ Read, Write, Trim map[string]any }
	}
	if err := json.Unmarshal(report, &r); err != nil || len(r.Jobs) != jobs {
		t.Fatalf("%d jobs, %v: %s", len(r.Jobs), err, report)
	}
	for _, j := range r.Jobs {
		all = append(all, map[string]map[string]any{"read": j.Read, "write": j.Write, "trim": j.Trim})
	}
	return all
}
