package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"minisrp/bench/host"
	"minisrp/cmd/exitcode"
	"minisrp/test/durable/nbdclient"
)

var full = flag.Bool("full", false, "64 targets with 1024 units, instead of 8 with 128, and what is left of a load")

// Many targets and units come up from a configuration, each unit under a name of its own, and take little memory, the
// more so when nobody uses them. The figures are in the log.
func TestScale(t *testing.T) {
	targets, limit := 8, 96<<10
	if *full {
		targets, limit = 64, 150<<10
	}
	const units = 16
	var text strings.Builder
	for n := range targets {
		fmt.Fprintf(&text, "[[embedded]]\nname = \"t%d\"\n", n)
		for range units {
			text.WriteString("[[embedded.unit]]\nsize = \"1M\"\n")
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "srpd.toml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p, ready := launch(t, filepath.Join(dir, "state"), "--config", file)
	select {
	case <-ready:
	case <-p.ended:
		t.Fatal("it has ended")
	case <-time.After(endTime):
		t.Fatalf("not ready after %v", endTime)
	}
	t.Logf("%d targets with %d units are up after %v", targets, targets*units, time.Since(began).Round(10*time.Millisecond))
	p.quiets(limit)
	out, code := p.srpctl("units")
	if code != exitcode.OK || !strings.Contains(out, fmt.Sprintf("disk%d ", targets*units-1)) || strings.Contains(out, fmt.Sprintf("disk%d ", targets*units)) {
		t.Errorf("srpctl units: %d\n%s", code, out)
	}
	if *full {
		p.idleCPU(20 * time.Second)
		p.load(targets * units)
		t.Logf("after a load of all units: %d MiB are resident", p.resident()>>10)
		time.Sleep(time.Minute) // only for the figure
		t.Logf("a minute later: %d MiB", p.resident()>>10)
	}
	p.stop()
}

// resident returns how much memory the process has, in KiB.
func (p *proc) resident() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				p.t.Fatal(err)
			}
			return n
		}
	}
	p.t.Fatal("the kernel does not say how much memory is resident")
	return 0
}

// quiets waits until an idle daemon has at most so many KiB: what it does not need any more it gives back in time.
func (p *proc) quiets(limit int) {
	p.t.Helper()
	have := p.resident()
	for end := time.Now().Add(5 * time.Minute); have > limit && time.Now().Before(end); have = p.resident() {
		time.Sleep(100 * time.Millisecond)
	}
	if have > limit {
		p.t.Errorf("%d MiB are resident, want %d at most", have>>10, limit>>10)
	}
	p.t.Logf("idle: %d MiB are resident", have>>10)
}

// idleCPU logs the part of a processor that an idle daemon takes.
func (p *proc) idleCPU(during time.Duration) {
	p.t.Helper()
	before, err := host.CPU(p.cmd.Process.Pid)
	began := time.Now()
	time.Sleep(during) // only for the figure
	after, err2 := host.CPU(p.cmd.Process.Pid)
	if err := errors.Join(err, err2); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("idle: %.2f %% of a processor", 100*float64(after-before)/float64(time.Since(began)))
}

// load writes and reads all of every unit, some at a time.
func (p *proc) load(units int) {
	var all sync.WaitGroup
	next := make(chan string)
	for range 16 {
		all.Go(func() {
			for name := range next {
				if err := overwrite(p, name); err != nil {
					p.t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	for n := range units {
		next <- fmt.Sprintf("disk%d", n)
	}
	close(next)
	all.Wait()
}

// overwrite writes all of a unit with many requests under way, and reads it in one piece.
func overwrite(p *proc, name string) error {
	a, err := nbdclient.ParseURI(p.uri(name))
	if err != nil {
		return err
	}
	c, err := nbdclient.Dial(p.t.Context(), a)
	if err != nil {
		return err
	}
	defer c.Close()
	const step = 16 << 10
	size := int(c.Export.Size)
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i>>9 + i)
	}
	for at := 0; at < size; at += step {
		q := nbdclient.Request{Cmd: nbdclient.Write, Cookie: uint64(at), Offset: uint64(at), Length: step, Data: data[at:][:step]}
		if err := c.Send(&q); err != nil {
			return err
		}
	}
	for range size / step {
		r, err := c.Receive()
		if err != nil {
			return err
		}
		if r.Errno != 0 {
			return fmt.Errorf("write at %d: %w", r.Cookie, r.Errno)
		}
	}
	back := make([]byte, size)
	if err := c.Do(nbdclient.Request{Cmd: nbdclient.Read, Length: uint32(size)}, back); err != nil {
		return err
	}
	if !bytes.Equal(data, back) {
		return errors.New("it does not read as it was written")
	}
	return nil
}
