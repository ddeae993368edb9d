package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"minisrp/cmd/exitcode"
	"minisrp/test/need"
)

// The programs under test are the real ones, built once.
var (
	srpdPath   string
	srpctlPath string
	srptgtPath string
)

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "srpd")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("go", "build", "-o", dir+"/", "minisrp/cmd/srpd", "minisrp/cmd/srpctl", "minisrp/cmd/srptgt").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building: %v\n%s", err, out)
		return 1
	}
	srpdPath, srpctlPath, srptgtPath = filepath.Join(dir, "srpd"), filepath.Join(dir, "srpctl"), filepath.Join(dir, "srptgt")
	return m.Run()
}

// readyTime and endTime are how long a test waits for a daemon to be ready, and to end: much longer than it takes, on a
// machine that does other things too.
const (
	readyTime = 60 * time.Second
	endTime   = 90 * time.Second
)

// proc is a running srpd.
type proc struct {
	t     *testing.T
	cmd   *exec.Cmd
	state string // its state directory
	errs  *buffer
	out   *buffer
	ended chan struct{} // closed when it has ended and all that it wrote was read
}

// buffer collects what a process writes.
type buffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed by the next Write; nil: nobody waits
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more != nil {
		close(b.more)
		b.more = nil
	}
	return b.b.Write(p)
}

// await waits until a text has been written, and reports whether it has been in readyTime.
func (b *buffer) await(text string) bool {
	for late := time.After(readyTime); ; {
		b.mu.Lock()
		if strings.Contains(b.b.String(), text) {
			b.mu.Unlock()
			return true
		}
		if b.more == nil {
			b.more = make(chan struct{})
		}
		more := b.more
		b.mu.Unlock()
		select {
		case <-more:
		case <-late:
			return false
		}
	}
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// environment is that of the programs: nothing of the user's may decide where they look.
func environment() []string {
	env := []string{}
	for _, v := range os.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "XDG_STATE_HOME", "XDG_RUNTIME_DIR":
		default:
			env = append(env, v)
		}
	}
	return env
}

// launch starts srpd run with a state directory, and does not wait for it to be ready. When it is, ready is closed.
func launch(t *testing.T, state string, args ...string) (p *proc, ready chan struct{}) {
	t.Helper()
	p = &proc{t: t, state: state, errs: &buffer{}, out: &buffer{}, ended: make(chan struct{})}
	p.cmd = exec.Command(srpdPath, append([]string{"run", "--state-dir", state}, args...)...)
	p.cmd.Env = environment()
	p.cmd.Stderr = p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready = make(chan struct{})
	go func() {
		said := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(p.out, lines.Text())
			if strings.HasPrefix(lines.Text(), "  fio ") && !said { // the last line
				close(ready)
				said = true
			}
		}
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("srpd %v wrote\n%s%s", args, p.out, p.errs)
		}
	})
	return p, ready
}

// start starts srpd and waits until it serves. What is running at the end of the test is asked to end, and must.
func start(t *testing.T, state string, args ...string) *proc {
	t.Helper()
	p, ready := launch(t, state, args...)
	select {
	case <-ready:
	case <-p.ended:
		t.Fatalf("srpd %v ended\n%s%s", args, p.out, p.errs)
	case <-time.After(readyTime):
		t.Fatalf("srpd %v is not ready after %v\n%s%s", args, readyTime, p.out, p.errs)
	}
	t.Cleanup(func() {
		select {
		case <-p.ended:
		default:
			p.stop()
		}
	})
	return p
}

// embeddedArgs is the ordinary daemon of a test: a small disk.
func embeddedArgs(more ...string) []string {
	return append([]string{"--embedded", "--size", "64M"}, more...)
}

// wait waits for the end and returns the exit code.
func (p *proc) wait() exitcode.Code {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(endTime):
		p.t.Fatalf("still there after %v\n%s", endTime, p.errs)
	}
	return exitcode.Code(p.cmd.ProcessState.ExitCode())
}

// stop asks the daemon to end, which must be clean.
func (p *proc) stop() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.wait(); code != exitcode.OK {
		p.t.Errorf("after SIGTERM: exit code %d\n%s", code, p.errs)
	}
}

// awaitLog waits until the log says some texts, and returns it: what a daemon writes arrives after what it does.
func (p *proc) awaitLog(texts ...string) string {
	p.t.Helper()
	for _, text := range texts {
		if !p.errs.await(text) {
			p.t.Fatalf("the log does not say %q", text)
		}
	}
	return p.errs.String()
}

// kill ends the daemon as a crash would.
func (p *proc) kill() {
	p.t.Helper()
	_ = p.cmd.Process.Kill()
	p.wait()
}

func (p *proc) socket() string { return filepath.Join(p.state, "nbd.sock") }

func (p *proc) uri(export string) string { return "nbd+unix:///" + export + "?socket=" + p.socket() }

// srpctl asks the daemon.
func (p *proc) srpctl(args ...string) (string, exitcode.Code) {
	p.t.Helper()
	return output(p.t, exec.Command(srpctlPath, append(args, "--state-dir", p.state)...))
}

// output runs a command and returns all that it wrote and its exit code.
func output(t *testing.T, cmd *exec.Cmd) (string, exitcode.Code) {
	t.Helper()
	if cmd.Env == nil {
		cmd.Env = environment()
	}
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return string(b), exitcode.Code(cmd.ProcessState.ExitCode())
}

// tool runs a tool, which must succeed, and returns what it wrote to its standard output. One that is not installed
// skips the test, or fails it in CI.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), need.Tool(t, name), args...)
	cmd.Dir = t.TempDir() // some leave files where they stand
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}
