package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"minisrp/cmd/exitcode"
	"minisrp/test/need"
)

// qemuIO runs commands of qemu-io on an export.
func qemuIO(t *testing.T, uri string, commands ...string) {
	t.Helper()
	args := []string{"-f", "raw", "-t", "none"}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	if out := tool(t, "qemu-io", append(args, uri)...); strings.Contains(out, "failed") || strings.Contains(out, "rror") {
		t.Errorf("qemu-io says\n%s", out)
	}
}

// left returns the names in a state directory that are there only while a daemon runs.
func left(t *testing.T, state string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if n := e.Name(); strings.HasSuffix(n, ".sock") || strings.HasSuffix(n, "lock") {
			names = append(names, n)
		}
	}
	return names
}

// The foreground output is what a user needs: the URI, and commands that work as they are.
func TestAnnouncement(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs()...)
	out := p.out.String()
	if !strings.HasPrefix(out, "disk0  64M  MINISRP file disk  naa.6") || !strings.Contains(out, "\n  "+p.uri("disk0")+"\n") {
		t.Errorf("srpd says\n%s", out)
	}
	_, try, _ := strings.Cut(out, "Try:\n")
	commands := strings.Split(strings.TrimSpace(try), "\n")
	if len(commands) != 3 {
		t.Fatalf("%d commands to try:\n%s", len(commands), out)
	}
	for _, c := range commands {
		words := strings.Fields(strings.ReplaceAll(c, "'", ""))
		if words[0] == "qemu-img" {
			words = append(words, "-c", "1000")
		}
		tool(t, words[0], words[1:]...)
	}
}

// SIGTERM and SIGINT end the daemon cleanly, under load too; what was written is there again.
func TestEnd(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for i, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := start(t, state, embeddedArgs("--luns", "2")...)
		qemuIO(t, p.uri("disk0"), fmt.Sprintf("write -P %d 8M 4M", 0x11+i))
		load := exec.Command(need.Tool(t, "qemu-img"), "bench", "-f", "raw", "-t", "none", "-w", "-d", "64", "-c", "100000000", p.uri("disk1"))
		if err := load.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(readyTime); p.counters().Disks[1].Write.Ops < 1000; {
			if time.Now().After(deadline) {
				t.Fatal("there is no load")
			}
		}
		_ = p.cmd.Process.Signal(sig)
		if code := p.wait(); code != exitcode.OK {
			t.Errorf("after %v: exit code %d", sig, code)
		}
		_ = load.Process.Kill() // qemu would wait for the server to come back
		_ = load.Wait()
		if names := left(t, state); len(names) != 0 {
			t.Errorf("after %v there are %v", sig, names)
		}
		for _, text := range []string{"ERROR", "panic"} {
			if strings.Contains(p.errs.String(), text) {
				t.Errorf("after %v: %s", sig, text)
			}
		}
		p = start(t, state, embeddedArgs("--luns", "2")...)
		qemuIO(t, p.uri("disk0"), fmt.Sprintf("read -P %d 8M 4M", 0x11+i))
		p.stop()
	}
}

// After SIGKILL the next start needs no help: what was flushed is there, and names and identities are the same.
func TestKill(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	units := ""
	for i := range 3 {
		p := start(t, state, embeddedArgs("--luns", "2")...)
		out, _ := p.srpctl("units", "--json")
		if units == "" {
			units = out
		} else if out != units {
			t.Errorf("after a kill the units are\n%s\nand were\n%s", out, units)
		}
		for n := range i {
			qemuIO(t, p.uri("disk1"), fmt.Sprintf("read -P %d %dM 1M", 0x40+n, n))
		}
		qemuIO(t, p.uri("disk1"), fmt.Sprintf("write -P %d %dM 1M", 0x40+i, i), "flush")
		p.kill()
		if len(left(t, state)) == 0 {
			t.Fatal("nothing was left behind: the test shows nothing")
		}
	}
	start(t, state, embeddedArgs("--luns", "2")...).stop()
}

// A daemon that is killed while it starts leaves nothing that the next start minds.
func TestKillWhileStarting(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for i := range 12 {
		p, ready := launch(t, state, embeddedArgs()...)
		timer := time.NewTimer(time.Duration(i) * 6 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ready:
		case <-p.ended:
			t.Fatal("ended by itself")
		}
		p.kill()
	}
	p := start(t, state, embeddedArgs()...)
	tool(t, "nbdinfo", p.uri("disk0"))
}

// A second signal, later than what make or timeout pass on, ends a daemon that cannot finish.
func TestSecondSignal(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	p := start(t, state, embeddedArgs()...)
	c := connect(t, p.socket(), "disk0")
	for i := range 64 { // replies that nobody takes
		c.request(0, 0, uint64(i), 0, 1<<20)
	}
	for deadline := time.Now().Add(readyTime); p.counters().NBD.Exports[0].Full == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the socket takes all replies")
		}
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	first := time.Now()
	for {
		select {
		case <-tick.C:
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			continue
		case <-p.ended:
		}
		break
	}
	if code := p.wait(); code != exitcode.Cut || !strings.Contains(p.errs.String(), "again") {
		t.Errorf("exit code %d", code)
	}
	if d := time.Since(first); d < sameSignal {
		t.Errorf("signals within %v are taken for another", d)
	}
	start(t, state, embeddedArgs()...).stop()
}

// Asked to end before it is ready, the daemon ends, and not as a failure.
func TestEndWhileStarting(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for i := range 8 {
		p, ready := launch(t, state, embeddedArgs()...)
		// The earliest that a signal does not kill is when the program has set up its signals; its lock tells.
		for {
			if _, err := os.Stat(filepath.Join(state, "control.sock.lock")); err == nil {
				break
			}
			select {
			case <-p.ended:
				t.Fatal("ended by itself")
			default:
			}
		}
		timer := time.NewTimer(time.Duration(i) * 4 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ready:
		}
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		if code := p.wait(); code != exitcode.OK {
			t.Errorf("exit code %d\n%s", code, p.errs)
		}
		if names := left(t, state); len(names) != 0 {
			t.Errorf("there are %v", names)
		}
	}
}

// client speaks NBD in the open.
type client struct {
	t *testing.T
	net.Conn
}

// connect connects to an export, as a client with fixed newstyle and no zeroes.
func connect(t *testing.T, socket, export string) *client {
	t.Helper()
	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(readyTime)) // no test hangs
	c := &client{t, nc}
	c.read(18)
	c.write(uint32(3), []byte("IHAVEOPT"), uint32(1), uint32(len(export)), []byte(export))
	c.read(10)
	return c
}

func (c *client) read(n int) []byte {
	c.t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		c.t.Fatal(err)
	}
	return b
}

func (c *client) write(values ...any) {
	c.t.Helper()
	// In one piece: a socket takes fewer of many small ones.
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.BigEndian, v); err != nil {
			c.t.Fatal(err)
		}
	}
	if _, err := c.Write(b.Bytes()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) request(flags, command uint16, cookie, offset uint64, length uint32) {
	c.t.Helper()
	c.write(uint32(0x25609513), flags, command, cookie, offset, length)
}

// A client that breaks the protocol is cut off, with a word in the log; another goes on undisturbed.
func TestBrokenClients(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs()...)
	good := connect(t, p.socket(), "disk0")
	check := func() {
		good.request(0, 0, 7, 0, 512)
		if b := good.read(16 + 512); binary.BigEndian.Uint32(b) != 0x67446698 || binary.BigEndian.Uint32(b[4:]) != 0 {
			t.Fatalf("the good client gets % x", b[:16])
		}
	}
	check()
	for name, send := range map[string]func() net.Conn{
		"no NBD at all": func() net.Conn {
			nc, err := net.Dial("unix", p.socket())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(nc, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			return nc
		},
		"a wrong magic number": func() net.Conn {
			c := connect(t, p.socket(), "disk0")
			c.write(uint32(0xdeadbeef), make([]byte, 24))
			return c
		},
		"a payload that is too long": func() net.Conn {
			c := connect(t, p.socket(), "disk0")
			c.request(0, 1, 1, 0, 1<<31)
			return c
		},
	} {
		nc := send()
		_ = nc.SetReadDeadline(time.Now().Add(readyTime))
		if _, err := io.Copy(io.Discard, nc); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: the connection stays", name)
		}
		_ = nc.Close()
		check()
	}
	// The log comes through a pipe, behind what the client saw.
	broke := func() int { return strings.Count(p.errs.String(), "client broke the protocol") }
	for deadline := time.Now().Add(readyTime); broke() < 3 && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := broke(); n != 3 {
		t.Errorf("%d of 3 are in the log\n%s", n, p.errs)
	}
	out, _ := p.srpctl("counters")
	if !strings.Contains(out, "1 broken in negotiation") {
		t.Errorf("counters are\n%s", out)
	}
	// A client in the middle of a write goes away: nothing of it is written, nobody waits.
	c := connect(t, p.socket(), "disk0")
	c.request(0, 1, 1, 1<<20, 1<<20)
	c.write(make([]byte, 1000))
	_ = c.Close()
	check()
	// One that names no export that is there.
	if out, code := output(t, exec.Command("nbdinfo", p.uri("disk7"))); code == 0 || !strings.Contains(out, "disk7") {
		t.Errorf("nbdinfo on disk7: %d\n%s", code, out)
	}
	check()
}
