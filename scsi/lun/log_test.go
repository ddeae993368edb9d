package lun_test

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/verbs/dispatch"
)

// log reads a log page, cumulative values, from the parameter on.
func (x *initiator) log(page, subpage uint8, from uint16) (raw []byte, p scsi.LogPage) {
	x.tb.Helper()
	c := scsi.LogSense{Control: scsi.LogCumulative, Page: page, Subpage: subpage, Pointer: from, AllocationLength: 512}
	raw = x.do(0, cdb(&c), nil, 512).good().got
	p, err := scsi.ParseLogPage(raw)
	if err != nil || p.Page != page || p.Subpage != subpage || p.Length != len(p.Body) {
		x.tb.Fatalf("page %#x: %+v, %v", page, p, err)
	}
	return raw, p
}

// counters returns the counters of an error counter page.
func (x *initiator) counters(page uint8) (bytes, errors uint64) {
	x.tb.Helper()
	_, p := x.log(page, 0, 0)
	for body := p.Body; len(body) > 0; {
		q, rest, ok := scsi.NextLogParameter(body)
		n, counts := q.Counter()
		if !ok || !counts {
			x.tb.Fatalf("page %#x: % x", page, body)
		}
		switch q.Code {
		case scsi.LogTotalBytes:
			bytes = n
		case scsi.LogTotalUncorrected:
			errors = n
		}
		body = rest
	}
	return bytes, errors
}

func logSenseEffect(t *testing.T, u *effectUnit) {
	u.write(0, pattern(1, 9*testBlock)).good()
	u.do(0, cdb(&scsi.Verify{Write: true, Blocks: 2}), pattern(1, 2*testBlock), 0).good()
	u.read(0, 5*testBlock)
	u.do(0, cdb(&scsi.Verify{Blocks: 7}), nil, 0).good()
	for page, want := range map[uint8]uint64{scsi.LogWriteErrors: 11 * testBlock, scsi.LogReadErrors: 5 * testBlock, scsi.LogVerifyErrors: 7 * testBlock} {
		if n, bad := u.counters(page); n != want || bad != 0 {
			t.Errorf("page %#x: %d bytes, %d errors, want %d bytes", page, n, bad, want)
		}
	}

	_, isMetered := u.count.Below().(lun.Metered)
	v := must(scsi.ParseVPD(u.inquiry(0, true, scsi.VPDProvisioning), scsi.VPDProvisioning))
	exponent := must(scsi.ParseProvisioning(v.Body)).ThresholdExponent
	if isMetered != (exponent != 0) {
		t.Fatalf("threshold exponent %d", exponent)
	}
	if !isMetered {
		u.do(0, cdb(&scsi.LogSense{Control: 1, Page: scsi.LogProvisioning, AllocationLength: 99}), nil, 99).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		return
	}
	used := func() (used, free uint64) {
		_, p := u.log(scsi.LogProvisioning, 0, 0)
		a, rest, _ := scsi.NextLogParameter(p.Body)
		b, rest, ok := scsi.NextLogParameter(rest)
		if !ok || a.Code != scsi.LogAvailableResource || b.Code != scsi.LogUsedResource || len(rest) != 0 {
			t.Fatalf("% x", p.Body)
		}
		f, n := must(scsi.ParseLogResource(a.Value)), must(scsi.ParseLogResource(b.Value))
		if f.Scope != 2 || n.Scope != 1 {
			t.Errorf("scopes of %+v and %+v", f, n)
		}
		return uint64(n.Count) << exponent * testBlock, uint64(f.Count) << exponent * testBlock
	}
	needHoles(t)
	before, free := used()
	if free == 0 {
		t.Error("no space is left, and here we are")
	}
	const more = 8 << 20
	u.write(4096, pattern(2, more)).good()
	u.do(0, cdb(&scsi.SyncCache{}), nil, 0).good()
	full, _ := used()
	if full < before+more-1<<20 || full > before+2*more {
		t.Errorf("used %d before and %d after %d bytes were written", before, full, more)
	}
	u.unmap(scsi.Extent{LBA: 4096, Blocks: more / testBlock}).good()
	u.do(0, cdb(&scsi.SyncCache{}), nil, 0).good()
	if after, _ := used(); after > full-more/2 {
		t.Errorf("used %d, and %d after they were unmapped", full, after)
	}
}

func logSelectEffect(t *testing.T, u *effectUnit) {
	other := newInitiator(t, u.server)
	other.attentions(0)
	use := func() {
		u.write(0, pattern(1, testBlock)).good()
		u.read(0, testBlock)
		u.do(0, cdb(&scsi.Verify{Blocks: 1}), nil, 0).good()
	}
	counts := func() (n [3]uint64) {
		for i, page := range []uint8{scsi.LogWriteErrors, scsi.LogReadErrors, scsi.LogVerifyErrors} {
			n[i], _ = u.counters(page)
		}
		return n
	}
	use()
	reset := func(page, subpage uint8) {
		t.Helper()
		u.do(0, cdb(&scsi.LogSelect{Reset: true, Control: scsi.LogCumulative, Page: page, Subpage: subpage}), nil, 0).good()
	}
	reset(scsi.LogReadErrors, 0)
	if got := counts(); got != [3]uint64{testBlock, 0, testBlock} {
		t.Errorf("%v", got)
	}
	u.ready(0).good()
	other.ready(0).check(scsi.KeyUnitAttention, 0x2a02)
	reset(scsi.LogReadErrors, 0) // nothing to reset
	reset(scsi.LogTemperature, 0)
	other.ready(0).good()
	reset(0, scsi.LogSubpageAll)
	if got := counts(); got != [3]uint64{} {
		t.Errorf("%v", got)
	}
	use()
	if got := counts(); got != [3]uint64{testBlock, testBlock, testBlock} {
		t.Errorf("%v", got)
	}
	if st := u.stats(u.unit); st.Writes != 2 {
		t.Errorf("the unit's own counters are %+v", st)
	}
	u.do(0, cdb(&scsi.LogSelect{Page: 0}), nil, 0).good()
	for _, c := range []scsi.LogSelect{
		{Save: true}, {Reset: true, Page: 0x15}, {Reset: true, Page: scsi.LogReadErrors, Subpage: 1}, {ParameterListLength: 4},
	} {
		u.do(0, cdb(&c), make([]byte, 4), 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
}

// stats returns the unit's own counters.
func (x *initiator) stats(u *lun.Unit) (st lun.Stats) {
	x.at(func(f *dispatch.Frame) { st = u.Stats(f) })
	return st
}

// Errors of the medium count on the page of what failed.
func TestLogErrors(t *testing.T) {
	s := newServer()
	var fail error
	attach(t, s, 0, lun.Config{Store: &volatile{luntest.Fail(ram(testSize), func(luntest.Call) error { return fail })}})
	x := newInitiator(t, s)
	x.attentions(0)
	fail = unix.EIO
	for range 3 {
		x.do(0, cdb(&scsi.RW{Blocks: 1}), nil, testBlock).check(scsi.KeyMediumError, scsi.ASCUnrecoveredRead)
	}
	for range 2 {
		x.write(0, pattern(1, testBlock)).check(scsi.KeyMediumError, scsi.ASCWriteError)
	}
	x.do(0, cdb(&scsi.Verify{Blocks: 1}), nil, 0).check(scsi.KeyMediumError, scsi.ASCUnrecoveredRead)
	fail = unix.ENOSPC
	x.write(0, pattern(1, testBlock)).check(scsi.KeyDataProtect, scsi.ASCSpaceAllocation)
	fail = nil
	for page, want := range map[uint8]uint64{scsi.LogReadErrors: 3, scsi.LogWriteErrors: 2, scsi.LogVerifyErrors: 1} {
		if n, bad := x.counters(page); n != 0 || bad != want {
			t.Errorf("page %#x: %d bytes, %d errors, want %d", page, n, bad, want)
		}
	}
}

// sg_logs reads every page that the unit lists, and the list.
func TestLogPagesBySgLogs(t *testing.T) {
	x := inquiryUnit(t)
	x.attentions(0)
	x.write(0, pattern(1, 3*testBlock)).good()
	raw, list := x.log(scsi.LogSupportedPages, 0, 0)
	wants(t, tool(t, raw, "sg_logs", "--in=FILE", "--raw"), `Supported log pages`, `0x02 +Write error`, `0x2f +Informational`)
	if !bytes.Equal(list.Body, []byte{0x00, 0x02, 0x03, 0x05, 0x0c, 0x0d, 0x2f}) {
		t.Fatalf("pages % x", list.Body)
	}
	_, subpages := x.log(scsi.LogSupportedPages, scsi.LogSubpageAll, 0)
	if want := []byte{0, 0, 0, 0xff, 2, 0, 3, 0, 5, 0, 0xc, 0, 0xd, 0, 0x2f, 0}; !bytes.Equal(subpages.Body, want) {
		t.Errorf("pages and subpages % x", subpages.Body)
	}
	x.setExceptions(func(p *scsi.ExceptionsPage) { p.Test = true }).good()
	for page, patterns := range map[uint8][]string{
		scsi.LogWriteErrors:  {`Write error counter page`, `Total bytes processed = 1536\b`, `Total uncorrected errors = 0\b`},
		scsi.LogReadErrors:   {`Read error counter page`},
		scsi.LogVerifyErrors: {`Verify error counter page`},
		scsi.LogProvisioning: {`Logical block provisioning page`, `Available LBA mapping threshold`, `Used LBA mapping threshold`,
			`Scope: dedicated to lu`, `Scope: not dedicated to lu`},
		scsi.LogTemperature: {`Temperature page`, `Current temperature = <not available>`, `Reference temperature = <not available>`},
		scsi.LogExceptions:  {`Informational Exceptions page`, `IE asc = 0x5d, ascq = 0xff`},
	} {
		raw, p := x.log(page, 0, 0)
		if !p.DisableSave {
			t.Errorf("page %#x may be saved", page)
		}
		wants(t, tool(t, raw, "sg_logs", "--in=FILE", "--raw"), patterns...)
	}
}

// PARAMETER POINTER leaves out what is before it, and must not be behind the last; thresholds there are none of.
func TestLogSenseFields(t *testing.T) {
	x := inquiryUnit(t)
	x.attentions(0)
	for page, last := range map[uint8]uint16{scsi.LogWriteErrors: 6, scsi.LogProvisioning: 2, scsi.LogTemperature: 1, scsi.LogExceptions: 0} {
		for from := range last + 1 {
			_, p := x.log(page, 0, from)
			if q, _, ok := scsi.NextLogParameter(p.Body); !ok || q.Code < from {
				t.Errorf("page %#x from %d: % x", page, from, p.Body)
			}
		}
		c := scsi.LogSense{Control: scsi.LogCumulative, Page: page, Pointer: last + 1, AllocationLength: 99}
		s, _ := scsi.ParseSense(x.do(0, cdb(&c), nil, 99).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB).Sense())
		if p, ok := s.FieldPointer(); !ok || p.Byte != 5 {
			t.Errorf("page %#x: %v", page, s)
		}
	}
	for _, c := range []scsi.LogSense{
		{Page: scsi.LogWriteErrors}, {Page: scsi.LogWriteErrors, Control: scsi.LogDefaultThreshold}, {Page: 0x15, Control: 1},
		{Page: scsi.LogWriteErrors, Control: 1, Subpage: 1}, {Save: true, Control: 1},
	} {
		c.AllocationLength = 99
		x.do(0, cdb(&c), nil, 99).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	x.write(0, pattern(1, testBlock)).good()
	c := scsi.LogSense{Page: scsi.LogWriteErrors, Control: scsi.LogDefaultCumulative, AllocationLength: 99}
	p := must(scsi.ParseLogPage(x.do(0, cdb(&c), nil, 99).good().got))
	if q, _, _ := scsi.NextLogParameter(p.Body); !bytes.Equal(q.Value, make([]byte, 8)) {
		t.Errorf("default value % x", q.Value)
	}
	if got := x.do(0, cdb(&scsi.LogSense{Page: scsi.LogProvisioning, AllocationLength: 6}), nil, 99).good(); len(got.got) != 6 || got.InResidual != 93 {
		t.Errorf("cut at 6: % x, residual %d", got.got, got.InResidual)
	}
}

// THIN PROVISIONING SOFT THRESHOLD REACHED goes to everybody when the store's keeper says so.
func TestSpaceLow(t *testing.T) {
	s := newServer()
	u := attach(t, s, 0, lun.Config{Store: ram(testSize)})
	a, b := newInitiator(t, s), newInitiator(t, s)
	a.attentions(0)
	b.attentions(0)
	u.SpaceLow()
	for _, x := range []*initiator{a, b} {
		x.ready(0).check(scsi.KeyUnitAttention, scsi.ASCThinThreshold)
		x.ready(0).good()
	}
}
