package lun_test

import (
	"bytes"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
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

// REPLACE LOST RESERVATION is for units that know that they have lost something, and this one never does: it is no
// service action of the unit's, and REPORT CAPABILITIES says so (RLR_C; SPC-5 6.16.4, 6.17).
func TestReplaceLostReservationRefused(t *testing.T) {
	x := inquiryUnit(t)
	x.attentions(0)
	x.register(7).good()
	b := (&scsi.ReserveList{ServiceKey: 7}).Append(nil)
	c := x.do(0, cdb(&scsi.ReserveOut{Action: scsi.SAReplaceLost, Type: scsi.WriteExclusive, ParameterListLength: uint32(len(b))}), b, 0)
	c.check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	sense := must(scsi.ParseSense(c.Sense()))
	if p, ok := sense.FieldPointer(); !ok || p.Byte != 1 || p.Bit != 4 {
		t.Errorf("the sense data point at %+v, want the service action", p)
	}
	x.holds(0, 0, 7)
	if k := must(scsi.ParseReserveCapabilities(x.inquire(scsi.SAReportCapabilities))); k.ReplaceLost {
		t.Error("RLR_C is set")
	}
	r := scsi.ReportSupported{Options: scsi.ReportByOpcodeAction, Opcode: scsi.OpPersistReserveOut, ServiceAction: scsi.SAReplaceLost, AllocationLength: 64}
	if one := must(scsi.ParseOneCommand(x.do(0, cdb(&r), nil, 64).good().got)); one.Support != scsi.SupportNone {
		t.Errorf("support %v", one.Support)
	}
}

// What may be changed in the mode pages is what has an effect, and no more: QERR, UA_INTLCK_CTRL, GLTSD and the others
// of the control page are as they are. NACA is refused in every command, since NORMACA is 0.
func TestChangeableModes(t *testing.T) {
	for name, c := range map[string]struct {
		store lun.Store
		cache scsi.CachingPage
		saves bool
	}{
		"ram":  {ram(testSize), scsi.CachingPage{}, false},
		"file": {file(t, testSize), scsi.CachingPage{WriteCache: true, Saveable: true}, true},
	} {
		s := newServer()
		attach(t, s, 0, lun.Config{Store: c.store})
		x := newInitiator(t, s)
		x.attentions(0)
		m := scsi.ModeSense{Control: scsi.PageChangeable, Page: scsi.ModePageAll, AllocationLength: 255}
		_, pages, err := scsi.ParseModeData(x.do(0, cdb(&m), nil, 255).good().got, false)
		if err != nil {
			t.Fatal(err)
		}
		want := (&scsi.RecoveryPage{Saveable: c.saves}).Append(nil)
		want = c.cache.Append(want)
		want = (&scsi.ControlPage{Saveable: c.saves, DescriptorSense: true, SoftwareProtect: true, TaskAborted: true}).Append(want)
		want = (&scsi.ExceptionsPage{Saveable: c.saves, Off: true, Test: true, Method: 0x0f}).Append(want)
		if !bytes.Equal(pages, want) {
			t.Errorf("%s: % x\nwant % x", name, pages, want)
		}
		for name, b := range x.commandCDBs() {
			at := len(b) - 1
			if b[0] == byte(scsi.OpVariableLength) {
				at = 1
			}
			b[at] = scsi.ControlNACA
			c := x.do(0, b, nil, 0)
			if s, err := scsi.ParseSense(c.Sense()); err != nil || s.ASC != scsi.ASCInvalidFieldInCDB {
				t.Errorf("%s with NACA: %v, %v", name, c.Status, s)
			}
		}
	}
}
