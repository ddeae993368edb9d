package target_test

import (
	"bufio"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/srp/target"
)

// What Linux sends when it logs in and scans is answered as the kernel's own target answers it, but for pages that this
// one does not have.
func TestLinuxScan(t *testing.T) {
	f, err := os.Open("testdata/linux-scan.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := newWorld(t, target.Config{}, nil)
	for n := range 3 {
		w.attach(n, ram())
	}
	x := w.newRaw()
	commands := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word := strings.Fields(lines.Text())
		if word[0] == "#" {
			continue
		}
		b, err := hex.DecodeString(word[1])
		if err != nil {
			t.Fatal(err)
		}
		if word[0] == "login" {
			copy(b[32:48], portID[:])
			rsp, err := x.connect(b)
			if err != nil || rsp.Flags&srp.ImmediateSupported == 0 || rsp.RequestLimitDelta != target.DefaultCredits {
				t.Fatalf("%+v, %v", rsp, err)
			}
			continue
		}
		var c srp.Command
		if err := c.Decode(b, 68); err != nil {
			t.Fatal(err)
		}
		if c.DataIn.Format != srp.DataNone {
			c.DataIn = srp.DirectBuffer(x.desc(0, int(c.DataIn.Length)))
		}
		r := x.carryOut(&c)
		commands++
		want, _ := strconv.ParseUint(word[2], 16, 8)
		if scsi.Status(r.Status) == scsi.Status(want) || word[3] == "3f0e" {
			continue
		}
		s, _ := scsi.ParseSense(r.Sense)
		t.Errorf("%s % x: %v, %v; Linux gives status %s, %s", scsi.CommandName(c.CDB), c.CDB, scsi.Status(r.Status), s, word[2], word[3])
	}
	if commands < 80 {
		t.Errorf("%d commands only", commands)
	}
}

// carryOut sends a command, again as long as the unit has something to report first.
func (x *raw) carryOut(c *srp.Command) *srp.Response {
	for {
		x.command(c, nil)
		r := x.response()
		if s, err := scsi.ParseSense(r.Sense); err != nil || s.Key != scsi.KeyUnitAttention {
			return r
		}
	}
}
