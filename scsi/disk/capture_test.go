package disk_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the dialogues in testdata")

// captured is what a Linux target answered for its first unit, by what was asked: operation code, and page or service
// action. Of several answers the longest one counts; unit attentions come once, in front of it.
func captured(t *testing.T) (answers map[string]*disktest.Answer, attentions map[string][]*disktest.Answer) {
	t.Helper()
	text, err := os.ReadFile("../testdata/lio.txt")
	if err != nil {
		t.Fatal(err)
	}
	answers, attentions = map[string]*disktest.Answer{}, map[string][]*disktest.Answer{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 5 || f[0] == "#" {
			continue
		}
		cdb, err := hex.DecodeString(f[1])
		if err != nil {
			t.Fatal(err)
		}
		data, _ := hex.DecodeString(f[3])
		if bytes.Contains(data, []byte("lun2")) {
			break // the next unit
		}
		a := disktest.Good()
		a.Execute, a.Data = false, data
		if f[2] != "00" {
			sense, err := hex.DecodeString(f[4])
			if err != nil {
				t.Fatal(err)
			}
			s, err := scsi.ParseSense(sense)
			if err != nil {
				t.Fatal(err)
			}
			a = disktest.Sense(s)
		}
		key := question(cdb)
		if a.Sense.Key == scsi.KeyUnitAttention {
			attentions[key] = append(attentions[key], a)
			continue
		}
		if old := answers[key]; old == nil || len(old.Data) < len(data) {
			answers[key] = a
		}
	}
	return answers, attentions
}

// question is what a command asks, without how much of the answer it wants.
func question(cdb []byte) string {
	switch scsi.Opcode(cdb[0]) {
	case scsi.OpInquiry, scsi.OpModeSense6, scsi.OpModeSense10:
		return fmt.Sprintf("%x", []byte{cdb[0], cdb[1] & 1, cdb[2]})
	case scsi.OpServiceActionIn:
		return fmt.Sprintf("%x", cdb[:2])
	case scsi.OpMaintenanceIn:
		return fmt.Sprintf("%x", cdb[:6])
	}
	return fmt.Sprintf("%x", cdb[:1])
}

// The identification of a Linux target's unit: its answers are those of the capture, and what the capture does not
// have is refused.
func TestIdentifyLinuxTarget(t *testing.T) {
	answers, attentions := captured(t)
	var dialogue strings.Builder
	c := plain()
	hook := func(c *disktest.Command) *disktest.Answer {
		cdb := c.SRB.CDB[:c.SRB.CDBLength]
		a := answers[question(cdb)]
		if owed := attentions[question(cdb)]; len(owed) > 0 {
			a, attentions[question(cdb)] = owed[0], owed[1:]
		}
		switch op := scsi.Opcode(cdb[0]); {
		case a != nil:
		case op == scsi.OpModeSense6 || op == scsi.OpMaintenanceIn || op == scsi.OpInquiry:
			a = disktest.Check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		default:
			a = disktest.Check(scsi.KeyIllegalRequest, scsi.ASCInvalidOpcode)
		}
		fmt.Fprintf(&dialogue, "> %-32x %s\n", cdb, scsi.CommandName(cdb))
		if a.Status == miniport.StatusSuccess {
			fmt.Fprintf(&dialogue, "< %d bytes\n", min(len(a.Data), int(c.SRB.Length)))
		} else {
			fmt.Fprintf(&dialogue, "< %v\n", a.Sense)
		}
		return a
	}
	r := newRigWith(t, c, disk.Options{}, hook)
	want := disk.Info{
		Identity: "naa.60014050000000000000000000000000", Vendor: "LIO-ORG", Product: "IBLOCK", Revision: "4.0", Serial: "lun0",
		Size: 64 << 20, LogicalBlock: 512, PhysicalBlock: 512, Granularity: 512, MaxTransfer: 1 << 20, UnmapGranularity: 1,
		WriteCache: disk.CacheOff,
	}
	if got := r.disk.Info(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	const golden = "testdata/identify-linux.txt"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(dialogue.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if dialogue.String() != string(text) {
		t.Errorf("another dialogue than in %s (-rewrite replaces it):\n%s", golden, dialogue.String())
	}
}
