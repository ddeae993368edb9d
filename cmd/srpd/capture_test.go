package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"minisrp/cmd/exitcode"
	"minisrp/srp"
)

// The capture shows what the daemon is made of: a login, commands as information units, RDMA in both directions, and
// responses, through two queue pairs. tshark takes the packets apart; it does not know SRP, whose units begin with
// their types.
func TestCapture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "srp.pcapng")
	p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs("--capture", file)...)
	qemuIO(t, p.uri("disk0"), "write -P 0x5a 0 64k", "flush", "read -P 0x5a 0 64k", "write -P 1 64k 4k")
	if out, _ := p.srpctl("counters"); !strings.Contains(out, file) {
		t.Errorf("srpctl counters does not tell of the capture\n%s", out)
	}
	p.stop()
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	steps, pairs := dissect(t, file)
	if pairs != 2 {
		t.Errorf("%d queue pairs are used, want 2", pairs)
	}
	rest := steps
	for _, want := range []string{
		"CM REQ with SRP_LOGIN_REQ", "CM REP with SRP_LOGIN_RSP", "CM RTU",
		"SRP_CMD", "RDMA READ", "RDMA READ data", "SRP_RSP", // the write
		"SRP_CMD", "RDMA WRITE", "SRP_RSP", // the read
		"SRP_I_LOGOUT", "CM DREQ",
	} {
		i := slices.Index(rest, want)
		if i < 0 {
			t.Fatalf("no %s after %d of\n%s", want, len(steps)-len(rest), strings.Join(steps, "\n"))
		}
		rest = rest[i+1:]
	}
	if slices.Index(rest, "SRP_CMD") >= 0 {
		t.Error("a command comes after the logout")
	}
}

// A capture that has its size ends, and the daemon goes on and says so.
func TestCaptureSize(t *testing.T) {
	const most = 64 << 10
	file := filepath.Join(t.TempDir(), "srp.pcapng")
	p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs("--capture", file, "--capture-size", "64k")...)
	qemuIO(t, p.uri("disk0"), "write -P 0x5a 0 1M", "flush")
	p.awaitLog("the capture has reached its size")
	qemuIO(t, p.uri("disk0"), "read -P 0x5a 0 1M")
	p.stop()
	if st, err := os.Stat(file); err != nil || st.Size() > most || st.Size() < most/4 {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
	if out := tool(t, "tshark", "-r", file); !strings.Contains(out, "ConnectRequest") {
		t.Errorf("tshark says %s", out)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// dissect returns what each packet is, and how many queue pairs but QP 1 get any.
func dissect(t *testing.T, file string) (steps []string, pairs int) {
	t.Helper()
	fields := []string{
		"infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.mad.attributeid", "data.data",
		"infiniband.cm.req.ip_cm.private", "infiniband.cm.rep.private",
	}
	args := []string{"-r", file, "--disable-protocol", "rpcordma", "-T", "fields", "-E", "separator=|"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(tool(t, "tshark", args...)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != len(fields) {
			t.Fatalf("tshark prints %q", line)
		}
		op, err := strconv.Atoi(f[0])
		if err != nil {
			t.Fatalf("tshark prints %q", line)
		}
		if f[1] != "0x000001" {
			seen[f[1]] = true
		}
		steps = append(steps, step(t, op, f[2], f[3], f[4], f[5]))
	}
	return steps, len(seen)
}

// step names a packet (IBA 9.2, opcodes; 12.6, attributes of the connection manager).
func step(t *testing.T, op int, attribute, data, request, reply string) string {
	t.Helper()
	unit := func(text string, at int) string {
		b, err := hex.DecodeString(text)
		if err != nil || len(b) <= at {
			t.Fatalf("%q is no information unit", text)
		}
		return srp.Opcode(b[at]).String()
	}
	switch {
	case op == 100 && attribute == "0x0010":
		return "CM REQ with " + unit(request, 11) // where the form for the RDMA CM has the type
	case op == 100 && attribute == "0x0013":
		return "CM REP with " + unit(reply, 0)
	case op == 100 && attribute == "0x0014":
		return "CM RTU"
	case op == 100 && attribute == "0x0015":
		return "CM DREQ"
	case op == 0 || op == 4: // SEND First, Only
		return unit(data, 0)
	case op >= 6 && op <= 11:
		return "RDMA WRITE"
	case op == 12:
		return "RDMA READ"
	case op >= 13 && op <= 16:
		return "RDMA READ data"
	}
	return fmt.Sprintf("opcode %d, attribute %s", op, attribute)
}

func TestCaptureRefused(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("not a capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := append([]string{"run", "--state-dir", filepath.Join(dir, "state")}, embeddedArgs()...)
	fails(t, exitcode.Usage, []string{"--capture", precious, "no capture"}, append(run, "--capture", precious)...)
	fails(t, exitcode.Usage, []string{"--capture", filepath.Join(dir, "no", "file")}, append(run, "--capture", filepath.Join(dir, "no", "file"))...)
	fails(t, exitcode.Usage, []string{"--capture", dir}, append(run, "--capture", dir)...)
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitcode.Usage, []string{"--capture", fifo, "plain file"}, append(run, "--capture", fifo)...)
	if b, _ := os.ReadFile(precious); string(b) != "not a capture" {
		t.Error("the file was overwritten")
	}
	for range 2 { // the second time over the first one's
		start(t, filepath.Join(dir, "state"), embeddedArgs("--capture", filepath.Join(dir, "c"))...).stop()
	}
}
