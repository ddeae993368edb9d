package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/test/need"
)

// must runs srpctl, which must end with a code, and returns what it printed.
func (p *proc) must(code exitcode.Code, line string) string {
	p.t.Helper()
	out, got := p.srpctl(strings.Fields(line)...)
	if got != code {
		p.t.Fatalf("srpctl %s: exit code %d, want %d\n%s", line, got, code, out)
	}
	return out
}

// sg gives what srpctl printed in hexadecimal digits to a tool of sg3_utils.
func sg(t *testing.T, digits, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), need.Tool(t, name), append([]string{"--inhex=-"}, args...)...)
	cmd.Stdin = strings.NewReader(digits)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// What units say of themselves comes through srpctl to the tools that know it best.
func TestControlInquiry(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs()...)
	for _, c := range []struct {
		line, text string
		tool       []string
		says       string
	}{
		{"inq disk0", "Vendor identification: MINISRP", []string{"sg_inq"}, "Vendor identification: MINISRP"},
		{"vpd disk0", "0xb0: Block limits", []string{"sg_vpd", "--page=sv"}, "Block limits"},
		{"vpd embedded/0 83", "Identity: naa.", []string{"sg_vpd", "--page=di"}, "NAA"},
		{"vpd disk0 bl", "Maximum unmap LBA count", []string{"sg_vpd", "--page=bl"}, "Maximum unmap LBA count"},
		{"vpd disk0 0xb2", "Unmap command supported (LBPU): 1", []string{"sg_vpd", "--page=lbpv"}, "Unmap command supported (LBPU): 1"},
		{"readcap disk0", "Device size: 67108864 bytes", nil, ""},
		{"readcap disk0 --10", "Device size: 67108864 bytes", nil, ""},
		{"luns disk0", "0000000000000000", nil, ""},
	} {
		if out := p.must(exitcode.OK, c.line); !strings.Contains(out, c.text) {
			t.Errorf("srpctl %s prints\n%s", c.line, out)
		}
		hex := p.must(exitcode.OK, c.line+" --hex")
		if c.tool != nil {
			if out := sg(t, hex, c.tool[0], c.tool[1:]...); !strings.Contains(out, c.says) {
				t.Errorf("srpctl %s --hex | %v prints\n%s", c.line, c.tool, out)
			}
		}
		var v struct {
			control.SCSIAnswer
			Decoded []struct{ Name, Value string }
		}
		out := p.must(exitcode.OK, c.line+" --json")
		if err := json.Unmarshal([]byte(out), &v); err != nil || v.Version != control.Version || len(v.Data) == 0 || len(v.Decoded) == 0 {
			t.Errorf("srpctl %s --json: %v\n%s", c.line, err, out)
		}
		if raw := p.must(exitcode.OK, c.line+" --raw"); raw != string(v.Data) {
			t.Errorf("srpctl %s --raw prints %x, and --json has %x", c.line, raw, []byte(v.Data))
		}
	}
	if out := p.must(exitcode.OK, "vpd disk0 --all"); strings.Count(out, "VPD page 0x") < 6 {
		t.Errorf("srpctl vpd --all prints\n%s", out)
	}
	p.must(exitcode.NotFound, "inq disk7")
	p.must(exitcode.NotFound, "inq nowhere/0")
	if out := p.must(exitcode.Failure, "vpd disk0 c7"); !strings.Contains(out, "ILLEGAL REQUEST") {
		t.Errorf("a page that is not there: %s", out)
	}
}

// Two initiators at one unit: what one reserves, the other sees, and is kept from.
func TestControlReservations(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	p := start(t, state, embeddedArgs()...)
	out := p.must(exitcode.OK, "list --json")
	var v control.Targets
	if err := json.Unmarshal([]byte(out), &v); err != nil || len(v.Targets) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	other := v.Targets[0].String + ",initiator_ext=77"
	p.must(exitcode.OK, "add "+other)
	p.must(exitcode.Exists, "add "+other)
	p.must(exitcode.OK, "add --idempotent "+other)
	if out := p.must(exitcode.Exists, "add --idempotent --channels 3 --lun 0 "+other); !strings.Contains(out, "asked for is ch_count=3; asked for is LUN 0 only") {
		t.Errorf("srpctl add of other options prints\n%s", out)
	}
	if out := p.must(exitcode.OK, "add --lun 0 --lun 5 "+v.Targets[0].String+",initiator_ext=78"); !strings.Contains(out, "has no LUN 5") {
		t.Errorf("srpctl add of a LUN that is not there prints\n%s", out)
	}
	p.must(exitcode.OK, "remove "+v.Targets[0].String+",initiator_ext=78")
	if out := p.must(exitcode.OK, "sessions --json"); !strings.Contains(out, `"peer": "192.0.2.1:`) {
		t.Errorf("srpctl sessions prints\n%s", out)
	}
	if out := p.must(exitcode.OK, "luns "+v.Targets[0].Name); !strings.Contains(out, "0000000000000000") {
		t.Errorf("srpctl luns of a target prints\n%s", out)
	}
	p.must(exitcode.NotFound, "tmf lun-reset "+v.Targets[0].Name+"/9")
	out = p.must(exitcode.OK, "list --json")
	if err := json.Unmarshal([]byte(out), &v); err != nil || len(v.Targets) != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	a, b := v.Targets[0].Name+"/0", v.Targets[1].Name+"/0"
	p.must(exitcode.OK, "pr register "+a+" --new-key abc")
	says := func(code exitcode.Code, line, text string) {
		t.Helper()
		if out := p.must(code, line); !strings.Contains(out, text) {
			t.Errorf("srpctl %s prints\n%s", line, out)
		}
	}
	says(exitcode.Failure, "pr reserve "+b+" --key abc --type we", "srpctl pr register "+b+" --new-key abc first")
	says(exitcode.Failure, "pr clear "+b+" --key abc", "not registered")
	says(exitcode.Usage, "pr register "+b+" --key abc --new-key def", "leave --key out")
	p.must(exitcode.OK, "pr register "+b+" --new-key def")
	p.must(exitcode.OK, "pr reserve "+a+" --key abc --type write-exclusive")
	says(exitcode.Conflict, "pr reserve "+b+" --key def --type exclusive-access", "with the key 0xabc, has reserved it: write exclusive")
	says(exitcode.Failure, "pr reserve "+a+" --key abc --type exclusive-access", "has reserved it already")
	says(exitcode.Usage, "pr release "+a+" --key def --type write-exclusive", "with the key 0xabc, not 0xdef")
	says(exitcode.NotFound, "pr preempt "+b+" --key def --new-key 123 --type write-exclusive", "nobody is registered with the key 0x123")
	if out := p.must(exitcode.OK, "pr keys "+b); !strings.Contains(out, "Key: 0xabc") || !strings.Contains(out, "Key: 0xdef") {
		t.Errorf("srpctl pr keys prints\n%s", out)
	}
	if out := p.must(exitcode.OK, "pr reservation "+b); !strings.Contains(out, "Key: 0xabc") || !strings.Contains(out, "Type: 1 (write exclusive)") {
		t.Errorf("srpctl pr reservation prints\n%s", out)
	}
	if out := p.must(exitcode.OK, "pr status "+b); strings.Count(out, "Initiator port: 0x") != 2 || strings.Count(out, "Holder: 1") != 1 {
		t.Errorf("srpctl pr status prints\n%s", out)
	}
	p.must(exitcode.OK, "pr preempt "+b+" --key def --new-key abc --type write-exclusive")
	says(exitcode.Failure, "pr release "+a+" --key abc --type write-exclusive", "not registered")
	p.must(exitcode.OK, "pr release "+b+" --key def --type write-exclusive")
	p.must(exitcode.OK, "pr clear "+b+" --key def")
	if out := p.must(exitcode.OK, "pr reservation "+b); !strings.Contains(out, "Reservation: none") {
		t.Errorf("srpctl pr reservation prints\n%s", out)
	}
	p.must(exitcode.OK, "pr capabilities "+a)
	p.must(exitcode.OK, "remove "+v.Targets[1].Name)
	p.must(exitcode.NotFound, "remove "+v.Targets[1].Name)
}

// The rest of the commands, against the daemon.
func TestControl(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs()...)
	qemuIO(t, p.uri("disk0"), "write -P 1 0 64k", "read -P 1 0 64k", "flush")
	for line, text := range map[string]string{
		"list": "embedded", "show": "id_ext=", "units": "disk0", "paths": "embedded/0", "channels": "up", "credits": "embedded",
		"latencies disk0": "write", "counters": "Port driver", "sessions": "embedded", "nbd clients": "EXPORT", "version": "process",
		"tmf lun-reset disk0": "yes", "tmf abort-task-set embedded/0": "yes", "rescan": "",
		"nbd accept-loss disk0": "no loss",
	} {
		if out := p.must(exitcode.OK, line); !strings.Contains(out, text) {
			t.Errorf("srpctl %s prints\n%s", line, out)
		}
	}
	p.must(exitcode.OK, "faults set embedded delay=1ms,op=read")
	if out := p.must(exitcode.OK, "faults"); !strings.Contains(out, "delay=1ms,op=read") {
		t.Errorf("srpctl faults prints\n%s", out)
	}
	p.must(exitcode.OK, "faults clear embedded")
	p.must(exitcode.Usage, "faults set embedded mood")
	p.must(exitcode.OK, "logout --dry-run embedded")
	p.must(exitcode.OK, "logout embedded")
	if out := p.must(exitcode.OK, "list"); !strings.Contains(out, "logged-out") {
		t.Errorf("srpctl list prints\n%s", out)
	}
	p.must(exitcode.OK, "reconnect --now embedded")
	qemuIO(t, p.uri("disk0"), "read -P 1 0 64k")
	p.must(exitcode.OK, "tmf target-reset embedded")
	qemuIO(t, p.uri("disk0"), "read -P 1 0 64k")
}
