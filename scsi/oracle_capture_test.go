package scsi

import (
	"fmt"
	"strings"
	"testing"
)

// What another target has sent, sg3_utils' decoders and those of this package read alike.
func TestOracleCaptured(t *testing.T) {
	seen := map[string]int{}
	done := map[string]bool{}
	for _, x := range captured(t) {
		key := fmt.Sprintf("%x %x %x", x.cdb, x.data, x.sense)
		if done[key] {
			continue
		}
		done[key] = true
		if len(x.sense) > 0 {
			s, err := ParseSense(x.sense)
			if err != nil {
				t.Errorf("%x: %v", x.sense, err)
				continue
			}
			seen["sense"]++
			compareSense(t, s, tool(t, nil, "sg_decode_sense", hexArgs(x.sense)...))
		}
		if x.cdb[0] != 0xff {
			name := CommandName(x.cdb)
			out := strings.TrimSpace(tool(t, nil, "sg_decode_sense", append([]string{"--cdb"}, hexArgs(x.cdb)...)...))
			if out, _, _ = strings.Cut(out, ","); !strings.EqualFold(name, out) {
				t.Errorf("%x: %q, the tool says %q", x.cdb, name, out)
			}
			seen["CDB"]++
		}
		if x.status != StatusGood || Opcode(x.cdb[0]) != OpInquiry {
			continue
		}
		if c, err := ParseInquiry(x.cdb); err != nil {
			t.Error(err)
		} else if c.EVPD {
			seen[capturedPage(t, x.data, c.Page)]++
		} else {
			seen["standard INQUIRY"]++
			q, err := ParseStandardInquiry(x.data)
			if err != nil {
				t.Error(err)
			}
			out := tool(t, x.data, "sg_inq", "--inhex=FILE", "--raw", "-d")
			expect(t, out, map[string]any{
				"PQual": q.Qualifier, "PDT": uint8(q.Device), "RMB": q.Removable, "version": fmt.Sprintf("0x%02x", q.Version),
				"TPGS": q.TPGS, "3PC": q.ThirdPartyCopy, "Protect": q.Protect, "CmdQue": q.CmdQue,
			})
			for _, want := range []string{"Vendor identification: " + q.VendorText(), "Product identification: " + q.ProductText()} {
				if !strings.Contains(out, want) {
					t.Errorf("the tool does not say %q\n%s", want, out)
				}
			}
		}
	}
	for _, what := range []string{"sense", "CDB", "standard INQUIRY", "page 0x00", "page 0x80", "page 0x83", "page 0xb0", "page 0xb1", "page 0xb2"} {
		if seen[what] == 0 {
			t.Errorf("nothing of %s was captured", what)
		}
	}
}

// capturedPage compares a page of vital product data, and returns what it is; one that was cut is not looked at.
func capturedPage(t *testing.T, data []byte, page uint8) string {
	t.Helper()
	v, err := ParseVPD(data, page)
	if err != nil {
		t.Errorf("%x: %v", data, err)
		return ""
	}
	if v.Needed() > len(data) {
		return "cut"
	}
	name := fmt.Sprintf("page 0x%02x", page)
	out := tool(t, data[:v.Needed()], "sg_vpd", "--inhex=FILE", "--raw", "--page="+fmt.Sprintf("0x%02x", page))
	wants := []string{}
	switch page {
	case VPDSupportedPages:
		for _, p := range v.Body {
			if p != VPDSupportedPages {
				wants = append(wants, map[uint8]string{
					VPDSerialNumber: "Unit serial number", VPDIdentification: "Device identification", 0x86: "Extended inquiry data",
					VPDBlockLimits: "Block limits", VPDBlockCharacteristics: "Block device characteristics",
					VPDProvisioning: "Logical block provisioning", 0x8f: "Third party copy",
				}[p])
			}
		}
	case VPDSerialNumber:
		wants = append(wants, "Unit serial number: "+v.SerialText())
	case VPDIdentification:
		id, ok := UnitIdentity(v.Body)
		if !ok {
			t.Errorf("no identity in %x", v.Body)
		}
		wants = append(wants, strings.Replace(string(id), "naa.", "0x", 1))
	case VPDBlockLimits:
		l, err := ParseBlockLimits(v.Body)
		if err != nil {
			t.Error(err)
		}
		expect(t, out, map[string]any{
			"Maximum compare and write length": l.MaxCompareAndWrite, "Maximum transfer length": l.MaxTransfer,
			"Optimal transfer length": l.OptimalTransfer, "Optimal transfer length granularity": l.TransferGranularity,
		})
	case VPDBlockCharacteristics:
		if _, err := ParseBlockCharacteristics(v.Body); err != nil {
			t.Error(err)
		}
	case VPDProvisioning:
		p, err := ParseProvisioning(v.Body)
		if err != nil {
			t.Error(err)
		}
		expect(t, out, map[string]any{"Unmap command supported (LBPU)": p.Unmap, "Provisioning type": p.Type})
	}
	for _, want := range wants {
		if !strings.Contains(strings.ToLower(out), strings.ToLower(want)) {
			t.Errorf("%s: the tool does not say %q\n%s", name, want, out)
		}
	}
	return name
}
