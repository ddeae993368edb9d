package lun_test

import (
	"bytes"
	"testing"

	"minisrp/scsi"
)

// What the unit does not do it refuses as an unknown command, whatever its fields, and says so everywhere: it is not
// listed, there are no third-party copies in the INQUIRY data, and VPD 8Fh does not exist.
func TestThirdPartyCopiesRefused(t *testing.T) {
	x := inquiryUnit(t)
	x.attentions(0)
	listed := x.commands()
	for _, c := range []struct {
		op scsi.Opcode
		sa []uint16
	}{
		{scsi.OpExtendedCopy, []uint16{scsi.SAExtendedCopyLID1, scsi.SAExtendedCopyLID4, scsi.SAPopulateToken, scsi.SAWriteUsingToken, scsi.SACopyOperationStop, 0x1f}},
		{scsi.OpReceiveCopy, []uint16{scsi.SACopyStatusLID1, scsi.SACopyDataLID1, scsi.SACopyParameters, scsi.SACopyFailures,
			scsi.SACopyStatusLID4, scsi.SACopyDataLID4, scsi.SAReceiveROD, scsi.SAReportRODTokens, 0x1f}},
		{scsi.OpSecurityIn, []uint16{0}},
		{scsi.OpSecurityOut, []uint16{0}},
	} {
		for _, sa := range c.sa {
			b := make([]byte, 16)
			b[0], b[1] = byte(c.op), byte(sa)
			b[13] = 64 // parameter list or allocation length
			name := scsi.CommandName(b)
			for _, l := range listed {
				if l == name {
					t.Errorf("%s is listed", name)
				}
			}
			x.do(0, b, pattern(1, 64), 64).check(scsi.KeyIllegalRequest, scsi.ASCInvalidOpcode)
			for _, options := range []uint8{scsi.ReportByOpcode, scsi.ReportByAction, scsi.ReportByOpcodeAction} {
				r := scsi.ReportSupported{Options: options, Opcode: c.op, ServiceAction: sa, AllocationLength: 64}
				one := must(scsi.ParseOneCommand(x.do(0, cdb(&r), nil, 64).good().got))
				if one.Support != scsi.SupportNone {
					t.Errorf("%s: support %v", name, one.Support)
				}
			}
		}
	}
	if q := must(scsi.ParseStandardInquiry(x.inquiry(0, false, 0))); q.ThirdPartyCopy {
		t.Error("3PC is set")
	}
	if pages := x.inquiry(0, true, 0)[4:]; bytes.IndexByte(pages, 0x8f) >= 0 {
		t.Errorf("pages % x", pages)
	}
	x.do(0, cdb(&scsi.Inquiry{EVPD: true, Page: 0x8f, AllocationLength: 255}), nil, 255).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
}
