package tap_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"minisrp/test/need"
	"minisrp/verbs/soft/tap"
)

// tshark runs it on a file, without the heuristics that see RPC in short SENDs.
func tshark(t *testing.T, file []byte, args ...string) string {
	t.Helper()
	path := need.Tool(t, "tshark")
	name := filepath.Join(t.TempDir(), "capture.pcapng")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"-r", name, "--disable-protocol", "rpcordma"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark %q: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// fields are what tshark is asked for, in the order of row.
var fields = []string{
	"infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.a", "infiniband.bth.padcnt",
	"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen",
	"infiniband.aeth.msn", "infiniband.mad.attributeid", "udp.length",
}

// row is what tshark must say of a packet.
func row(p packet) string {
	f := make([]string, len(fields))
	f[0], f[1], f[2] = strconv.Itoa(int(p.opcode)), fmt.Sprintf("0x%06x", p.qp), "0"
	if p.ack {
		f[2] = "1"
	}
	f[3] = strconv.Itoa(-len(p.payload) & 3)
	switch p.opcode {
	case 0x06, 0x0a, 0x0c:
		f[4], f[5], f[6] = fmt.Sprintf("0x%016x", p.va), fmt.Sprintf("0x%08x", p.key), strconv.Itoa(int(p.dmaLen))
	case 0x0d, 0x0f, 0x10:
		f[7] = strconv.Itoa(int(p.msn))
	case 0x64:
		f[8] = fmt.Sprintf("0x%04x", p.attr)
	}
	f[9] = strconv.Itoa(p.size)
	return strings.Join(f, "\t")
}

// tshark dissects every packet to the end, and reads in it what was sent.
func TestTshark(t *testing.T) {
	both(t, func(t *testing.T, addr [2]netip.Addr) {
		var d *dialogue
		file := captured(t, tap.Options{}, func(c *tap.Capture) {
			t.Run("", func(t *testing.T) { d = talk(t, c, addr) })
		})
		if out := tshark(t, file, "-Y", "_ws.malformed || _ws.expert || _ws.short || !infiniband", "-V"); out != "" {
			t.Errorf("tshark complains:\n%s", out)
		}
		args := []string{"-T", "fields"}
		for _, f := range fields {
			args = append(args, "-e", f)
		}
		lines := strings.Split(strings.TrimRight(tshark(t, file, args...), "\n"), "\n")
		for i, p := range d.want {
			if i < len(lines) && lines[i] != row(p) {
				t.Errorf("packet %d: tshark reads\n%s; want\n%s", i, lines[i], row(p))
			}
		}
		if len(lines) != len(d.want) {
			t.Errorf("%d packets; want %d", len(lines), len(d.want))
		}
		checkLogin(t, d, file, addr)
	})
}

// checkLogin asks tshark for the connection's making: the fields of each message that
// has them, and what they must say.
func checkLogin(t *testing.T, d *dialogue, file []byte, addr [2]netip.Addr) {
	t.Helper()
	ip := "4"
	if addr[0].Is6() {
		ip = "6"
	}
	request := []string{
		"localqpn", fmt.Sprintf("0x%06x", d.a.QP.Num()), "serviceid.dport", "5555", "retrcount", "7", "rnrretrcount", "6",
		"responderres", "0x04", "initdepth", "0x03", "pppmtu", "0x05", "transpsvctype", "0x00",
		"ip_cm.sip" + ip, addr[0].String(), "ip_cm.dip" + ip, addr[1].String(),
	}
	reply := []string{"localqpn", fmt.Sprintf("0x%06x", d.b.QP.Num()), "respres", "0x02", "initdepth", "0x01", "rnrretrcount", "0x05"}
	args := []string{"-Y", "infiniband.mad", "-T", "fields"}
	var want []string
	for _, m := range []struct {
		prefix string
		pairs  []string
	}{{"req.", request}, {"rep.", reply}, {"rej.", []string{"reason", "0x001c"}}} {
		for i := 0; i < len(m.pairs); i += 2 {
			args = append(args, "-e", "infiniband.cm."+m.prefix+m.pairs[i])
			want = append(want, m.pairs[i+1])
		}
	}
	n := len(request) / 2
	lines := strings.Split(strings.TrimRight(tshark(t, file, args...), "\n"), "\n")
	for i, part := range [][2]int{{0, n}, {len(want) - 1, len(want)}, {0, n}, {n, len(want) - 1}} {
		got := strings.Split(lines[i], "\t")[part[0]:part[1]]
		for j := range got {
			if g, w := number(got[j]), number(want[part[0]+j]); g != w {
				t.Errorf("message %d: tshark reads %s = %s; want %s", i, args[5+2*(part[0]+j)], g, w)
			}
		}
	}
}

// number makes numbers in different notations alike.
func number(s string) string {
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	return s
}
