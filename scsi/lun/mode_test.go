package lun_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

// mode reads a mode page, its body only.
func (x *initiator) mode(page uint8, control scsi.PageControl) (h scsi.ModeHeader, body []byte) {
	x.tb.Helper()
	m := scsi.ModeSense{Ten: true, Page: page, Control: control, AllocationLength: 255}
	h, pages, err := scsi.ParseModeData(x.do(0, cdb(&m), nil, 255).good().got, true)
	if err != nil {
		x.tb.Fatal(err)
	}
	body, ok := scsi.FindModePage(pages, page, 0)
	if !ok {
		x.tb.Fatalf("no page %#x", page)
	}
	return h, body
}

func (x *initiator) caching(c scsi.PageControl) scsi.CachingPage {
	_, body := x.mode(scsi.ModePageCaching, c)
	return must(scsi.ParseCachingPage(body))
}

func (x *initiator) control() scsi.ControlPage {
	_, body := x.mode(scsi.ModePageControl, scsi.PageCurrent)
	return must(scsi.ParseControlPage(body))
}

func (x *initiator) exceptions() scsi.ExceptionsPage {
	_, body := x.mode(scsi.ModePageExceptions, scsi.PageCurrent)
	return must(scsi.ParseExceptionsPage(body))
}

// selectMode sends mode pages.
func (x *initiator) selectMode(ten, save bool, pages []byte) *command {
	list := (&scsi.ModeHeader{}).AppendModeList(nil, ten, pages)
	return x.do(0, cdb(&scsi.ModeSelect{Ten: ten, PageFormat: true, Save: save, ParameterListLength: uint16(len(list))}), list, 0)
}

func (x *initiator) setCaching(on bool) *command {
	p := x.caching(scsi.PageCurrent)
	p.WriteCache = on
	return x.selectMode(true, false, p.Append(nil))
}

func (x *initiator) setControl(change func(p *scsi.ControlPage)) *command {
	p := x.control()
	change(&p)
	return x.selectMode(true, false, p.Append(nil))
}

func (x *initiator) setExceptions(change func(p *scsi.ExceptionsPage)) *command {
	p := x.exceptions()
	change(&p)
	return x.selectMode(true, false, p.Append(nil))
}

func modeSelectEffect(ten bool) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		info := u.count.Info()
		through := func() int64 { return u.flushed() + u.count.FUA() }
		writes := func() { // one of each that changes blocks
			u.write(3, pattern(1, testBlock)).good()
			u.unmap(scsi.Extent{LBA: 64, Blocks: 8}).good()
			u.do(0, cdb(&scsi.WriteSame{LBA: 9, Blocks: 4}), pattern(2, testBlock), 0).good()
			u.do(0, cdb(&scsi.OrWrite{LBA: 12, Blocks: 1}), pattern(3, testBlock), 0).good()
			u.compareAndWrite(40, make([]byte, testBlock), make([]byte, testBlock)).run().good()
		}
		if p := u.caching(scsi.PageChangeable); p.WriteCache != info.Volatile {
			t.Fatalf("changeable: %+v", p)
		}
		if !info.Volatile {
			page := u.caching(scsi.PageCurrent)
			page.WriteCache = true
			u.selectMode(ten, false, page.Append(nil)).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInParameters)
		} else {
			before := through()
			writes()
			if n := through() - before; n != 0 {
				t.Errorf("with write cache: %d times through to the medium", n)
			}
			page := u.caching(scsi.PageCurrent)
			page.WriteCache = false
			before = u.flushed()
			u.selectMode(ten, false, page.Append(nil)).good()
			if u.flushed() == before {
				t.Error("the cache is off and was not written")
			}
			before = through()
			writes()
			if n := through() - before; n < 5 {
				t.Errorf("5 writes without write cache, %d times through to the medium", n)
			}
		}

		// Saved values come back after a restart.
		control := u.control()
		control.DescriptorSense, control.SoftwareProtect = true, true
		saved := u.selectMode(ten, true, control.Append(nil))
		_, keeps := u.count.Below().(lun.Keeper)
		if !keeps {
			s, _ := scsi.ParseSense(saved.check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB).Sense())
			if p, ok := s.FieldPointer(); !ok || p.Byte != 1 || p.Bit != 0 {
				t.Errorf("%v", s)
			}
			u.do(0, cdb(&scsi.ModeSense{Page: 8, Control: scsi.PageSaved, AllocationLength: 99}), nil, 99).check(scsi.KeyIllegalRequest, 0x3900)
			u.selectMode(ten, false, control.Append(nil)).good()
		} else {
			saved.good()
		}
		for i := range 2 {
			h, _ := u.mode(scsi.ModePageControl, scsi.PageCurrent)
			if p := u.control(); !p.DescriptorSense || !p.SoftwareProtect || !h.WriteProtected {
				t.Fatalf("restart %d: %+v, %+v", i, p, h)
			}
			c := u.write(0, pattern(3, testBlock)).check(scsi.KeyDataProtect, 0x2702)
			if s, _ := scsi.ParseSense(c.Sense()); !s.Descriptor {
				t.Errorf("sense data % x, want descriptors", c.Sense())
			}
			c = u.do(0, cdb(&scsi.RW{LBA: 1 << 40, Blocks: 1}), nil, testBlock).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
			if s, _ := scsi.ParseSense(c.Sense()); s.Information != 1<<40 {
				t.Errorf("sense data % x, want all of the address", c.Sense())
			}
			u.read(0, testBlock)
			if !keeps || !u.reopen() {
				break
			}
		}
		if keeps && info.Volatile && u.caching(scsi.PageCurrent).WriteCache {
			t.Error("saved with the others, the write cache is on again")
		}
	}
}

// A parameter list that is wrong in any way changes nothing, and the sense data points at what is wrong.
func TestModeSelectRefused(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: &volatile{ram(testSize)}})
	x := newInitiator(t, s)
	x.attentions(0)
	before := x.do(0, cdb(&scsi.ModeSense{Ten: true, Page: 0x3f, AllocationLength: 255}), nil, 255).good().got
	caching := (&scsi.CachingPage{}).Append(nil) // WCE off would be a change
	header := make([]byte, 8)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	with := func(b []byte, at int, v byte) []byte {
		b = bytes.Clone(b)
		b[at] = v
		return b
	}
	exceptions := func(change func(p *scsi.ExceptionsPage)) []byte {
		p := x.exceptions()
		change(&p)
		return p.Append(nil)
	}
	block := []byte{0, 0, 0x80, 0, 0, 0, 2, 0} // 32 Ki blocks of 512
	long := []byte{0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0}
	for name, c := range map[string]struct {
		list []byte
		code scsi.ASC
		at   int // -1: no field pointer
		bit  int8
	}{
		"header cut":              {header[:7], scsi.ASCParameterListLength, -1, 0},
		"descriptor cut":          {join(with(header, 7, 8), block[:7]), scsi.ASCParameterListLength, -1, 0},
		"page cut":                {join(header, caching[:19]), scsi.ASCParameterListLength, -1, 0},
		"page header cut":         {join(header, caching, caching[:1]), scsi.ASCParameterListLength, -1, 0},
		"descriptor of 4 bytes":   {join(with(header, 7, 4), block[:4]), scsi.ASCInvalidFieldInParameters, 6, -1},
		"two descriptors":         {join(with(header, 7, 16), block, block), scsi.ASCInvalidFieldInParameters, 6, -1},
		"two long descriptors":    {join(with(with(header, 7, 32), 4, 1), long, long), scsi.ASCInvalidFieldInParameters, 6, -1},
		"medium type":             {join(with(header, 2, 1), caching), scsi.ASCInvalidFieldInParameters, 2, -1},
		"other block size":        {join(with(header, 7, 8), with(block, 6, 16), caching), scsi.ASCInvalidFieldInParameters, 8, -1},
		"other number of blocks":  {join(with(header, 7, 8), with(block, 3, 1), caching), scsi.ASCInvalidFieldInParameters, 8, -1},
		"unknown page":            {join(header, caching, []byte{0x1a, 1, 0}), scsi.ASCInvalidFieldInParameters, 28, 5},
		"unknown subpage":         {join(header, []byte{0x4a, 1, 0, 1, 0}), scsi.ASCInvalidFieldInParameters, 8, 5},
		"wrong length":            {join(header, with(caching, 1, 0x11)[:19]), scsi.ASCInvalidFieldInParameters, 9, -1},
		"PS":                      {join(header, with(caching, 0, 0x88)), scsi.ASCInvalidFieldInParameters, 8, 7},
		"RCD":                     {join(header, with(caching, 2, 0x01)), scsi.ASCInvalidFieldInParameters, 10, 0},
		"retention priority":      {join(header, with(caching, 3, 0x40)), scsi.ASCInvalidFieldInParameters, 11, 6},
		"second page":             {join(header, caching, (&scsi.ControlPage{TaskSetType: 1}).Append(nil)), scsi.ASCInvalidFieldInParameters, 30, 5},
		"QERR":                    {join(header, (&scsi.ControlPage{TaskAborted: true, GlobalLogOff: true, QueueAlgorithm: 1, QueueErrors: 1}).Append(nil)), scsi.ASCInvalidFieldInParameters, 11, 1},
		"MRIE":                    {join(header, exceptions(func(p *scsi.ExceptionsPage) { p.Method = 4 })), scsi.ASCInvalidFieldInParameters, 11, 3},
		"TEST with DEXCPT":        {join(header, exceptions(func(p *scsi.ExceptionsPage) { p.Test, p.Off = true, true })), scsi.ASCInvalidFieldInParameters, 10, 2},
		"INTERVAL TIMER":          {join(header, exceptions(func(p *scsi.ExceptionsPage) { p.Interval = 1 })), scsi.ASCInvalidFieldInParameters, 15, 0},
		"error recovery":          {join(header, (&scsi.RecoveryPage{ReadRetries: 1}).Append(nil)), scsi.ASCInvalidFieldInParameters, 11, 0},
		"MRIE behind good values": {join(header, caching, exceptions(func(p *scsi.ExceptionsPage) { p.Method = 3 })), scsi.ASCInvalidFieldInParameters, 31, 3},
	} {
		k := x.do(0, cdb(&scsi.ModeSelect{Ten: true, PageFormat: true, ParameterListLength: uint16(len(c.list))}), c.list, 0)
		s, _ := scsi.ParseSense(k.Sense())
		p, ok := s.FieldPointer()
		if s.Key != scsi.KeyIllegalRequest || s.ASC != c.code || ok != (c.at >= 0) || ok && (!p.Data || int(p.Byte) != c.at || p.Bit != c.bit) {
			t.Errorf("%s: %v, %v", name, k.Status, s)
		}
	}
	for _, c := range []*scsi.ModeSelect{
		{Ten: true, ParameterListLength: 8},                   // without PF
		{Ten: true, PageFormat: true, ParameterListLength: 9}, // more than there is
	} {
		x.do(0, cdb(c), header, 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	x.do(0, cdb(&scsi.ModeSelect{Ten: true, PageFormat: true, ParameterListLength: 5000}), make([]byte, 5000), 0).check(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
	after := x.do(0, cdb(&scsi.ModeSense{Ten: true, Page: 0x3f, AllocationLength: 255}), nil, 255).good().got
	if !bytes.Equal(before, after) {
		t.Errorf("the pages have changed from\n% x to\n% x", before, after)
	}
	// What MODE SENSE has given comes back, with its length and PS cleared as SPC-5 wants.
	x.do(0, cdb(&scsi.ModeSelect{Ten: true, PageFormat: true, ParameterListLength: uint16(len(before))}), with(before, 1, 0), 0).good()
	x.do(0, cdb(&scsi.ModeSelect{Ten: true, PageFormat: true}), nil, 0).good()
	x.do(0, cdb(&scsi.ModeSelect{Ten: true, PageFormat: true, ParameterListLength: 8}), header, 0).good()
}

// MODE PARAMETERS CHANGED goes to every nexus but the one that has changed them, and only for a change.
func TestModeParametersChanged(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: &volatile{ram(testSize)}})
	a, b := newInitiator(t, s), newInitiator(t, s)
	a.attentions(0)
	b.attentions(0)
	a.setCaching(false).good()
	a.ready(0).good()
	b.ready(0).check(scsi.KeyUnitAttention, scsi.ASCModeParametersChanged)
	b.ready(0).good()
	a.setCaching(false).good() // as it is
	b.ready(0).good()
	a.setCaching(true).good()
	a.manage(lun.LogicalUnitReset, 0, 0) // a has its own reason for a unit attention too
	a.ready(0).check(scsi.KeyUnitAttention, scsi.ASCTargetReset)
	a.ready(0).good()
	b.ready(0).check(scsi.KeyUnitAttention, scsi.ASCTargetReset)
	b.ready(0).check(scsi.KeyUnitAttention, scsi.ASCModeParametersChanged)
	b.ready(0).good()
}

// The write cache is turned off when the writes that are under way have ended, and those that come meanwhile wait.
func TestCacheOffWaitsForWrites(t *testing.T) {
	s := newServer()
	gate := luntest.Pause(&volatile{ram(testSize)})
	attach(t, s, 0, lun.Config{Store: gate})
	x := newInitiator(t, s)
	x.attentions(0)
	write := x.command(0, cdb(&scsi.RW{Write: true, Blocks: 1}), pattern(1, testBlock), 0)
	write.prepare()
	write.fetch()
	gate.Shut()
	write.execute()
	<-gate.Arrived()
	page := (&scsi.CachingPage{}).Append(nil)
	list := (&scsi.ModeHeader{}).AppendModeList(nil, false, page)
	off := x.command(0, cdb(&scsi.ModeSelect{PageFormat: true, ParameterListLength: uint16(len(list))}), list, 0)
	later := x.command(0, cdb(&scsi.RW{Write: true, LBA: 9, Blocks: 1}), pattern(2, testBlock), 0)
	if off.prepare() != lun.Blocked || later.prepare() != lun.Blocked {
		t.Fatal("does not wait")
	}
	gate.Open()
	x.wait(func() bool { return write.ended > 0 })
	write.release()
	off.finish()
	off.good()
	gate.Shut()
	x.wait(func() bool { return later.ready })
	later.fetch()
	later.execute()
	if c := <-gate.Arrived(); c.Op != luntest.Write || !c.FUA {
		t.Errorf("the store is asked for %+v", c)
	}
	gate.Open()
	x.wait(func() bool { return later.ended > 0 })
	later.release()
	later.good()
}

// A logical unit reset brings the saved values back, but for the write cache, which would have to be written first.
func TestResetRestoresModes(t *testing.T) {
	s := newServer()
	f := file(t, testSize)
	attach(t, s, 0, lun.Config{Store: f})
	x := newInitiator(t, s)
	x.attentions(0)
	p := x.control()
	p.DescriptorSense = true
	x.selectMode(false, true, p.Append(nil)).good()
	x.setControl(func(p *scsi.ControlPage) { p.DescriptorSense, p.SoftwareProtect = false, true }).good()
	x.manage(lun.LogicalUnitReset, 0, 0)
	x.attentions(0)
	if p := x.control(); !p.DescriptorSense || p.SoftwareProtect {
		t.Errorf("after the reset: %+v", p)
	}
	page := x.caching(scsi.PageCurrent)
	page.WriteCache = false
	x.selectMode(false, true, page.Append(nil)).good()
	x.setCaching(true).good()
	x.manage(lun.LogicalUnitReset, 0, 0)
	x.attentions(0)
	if !x.caching(scsi.PageCurrent).WriteCache || x.caching(scsi.PageSaved).WriteCache {
		t.Error("the reset has turned the write cache off, or what was saved is lost")
	}
}

// What was saved is beside the file. If it cannot be understood the unit does not start, and says so.
func TestKeptModesBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	for name, c := range map[string]struct {
		kept []byte
		want error
	}{
		"nothing":            {nil, nil},
		"cut":                {[]byte{0x08, 0x12, 4}, lun.ErrKept},
		"method of the next": {(&scsi.ExceptionsPage{Method: 4}).Append(nil), lun.ErrKept},
		"unknown page":       {append([]byte{0x3e, 1, 0xff}, (&scsi.CachingPage{}).Append(nil)...), nil},
	} {
		if err := os.WriteFile(path+".mode", c.kept, 0o600); err != nil {
			t.Fatal(err)
		}
		f := must(lun.OpenFile(path, lun.FileOptions{Size: testSize}))
		s := newServer()
		u, err := lun.NewUnit(s.Processor(), lun.Config{Store: f, Serial: "x"})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			f.Close(context.Background())
			continue
		}
		u.Close(context.Background())
	}
	f := must(lun.OpenFile(path, lun.FileOptions{}))
	defer f.Close(context.Background())
	if err := f.Keep(t.Context(), "../x", []byte{1}); err == nil {
		t.Error("kept under a path")
	}
	if err := f.Keep(t.Context(), "mode", nil); err != nil {
		t.Error(err)
	}
	if b, err := f.Kept(t.Context(), "mode"); err != nil || b != nil {
		t.Errorf("% x, %v", b, err)
	}
	if err := f.Keep(t.Context(), "mode", nil); err != nil {
		t.Errorf("forgotten twice: %v", err)
	}
}

// With TAS 0 tasks that another nexus aborts end without a word, and their nexus is told once.
func TestTaskAbortedStatusOff(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: luntest.Count(ram(testSize))})
	a, b := newInitiator(t, s), newInitiator(t, s)
	a.attentions(0)
	b.attentions(0)
	for _, told := range []bool{true, false} {
		a.setControl(func(p *scsi.ControlPage) { p.TaskAborted = told }).good()
		b.attentions(0)
		c := b.command(0, cdb(&scsi.RW{Write: true, Blocks: 1}), pattern(1, testBlock), 0)
		c.prepare()
		m := a.begin(lun.ClearTaskSet, 0, 0)
		c.fetch()
		c.execute()
		if c.Status != scsi.StatusTaskAborted || c.Quiet == told {
			t.Errorf("TAS %v: %v, quiet %v", told, c.Status, c.Quiet)
		}
		c.release()
		a.wait(func() bool { return m.done > 0 })
		if told {
			b.ready(0).good()
		} else {
			b.ready(0).check(scsi.KeyUnitAttention, scsi.ASCCommandsCleared)
			b.ready(0).good()
		}
		a.ready(0).good()
	}
}

// Informational exceptions are told by the method chosen (SBC-4 6.5.8).
func TestInformationalExceptions(t *testing.T) {
	const failureFalse, failure = 0x5dff, 0x5d10
	s := newServer()
	var fail error
	attach(t, s, 0, lun.Config{Store: &volatile{luntest.Fail(ram(testSize), func(c luntest.Call) error { return fail })}})
	a, b := newInitiator(t, s), newInitiator(t, s)
	quiet := func() {
		a.attentions(0)
		b.attentions(0)
	}
	quiet()
	polled := func(x *initiator) scsi.Sense {
		return must(scsi.ParseSense(x.do(0, cdb(&scsi.RequestSense{AllocationLength: 18}), nil, 18).good().got))
	}
	set := func(method uint8, test, off bool) {
		t.Helper()
		a.setExceptions(func(p *scsi.ExceptionsPage) { p.Method, p.Test, p.Off = method, test, off }).good()
	}

	set(scsi.ExceptionsOnRequest, true, false)
	b.ready(0).check(scsi.KeyUnitAttention, scsi.ASCModeParametersChanged)
	for range 2 { // as often as it is asked for
		for _, x := range []*initiator{a, b} {
			if s := polled(x); s.Key != scsi.KeyNoSense || s.ASC != failureFalse {
				t.Errorf("REQUEST SENSE: %v", s)
			}
			x.ready(0).good()
		}
	}
	set(scsi.ExceptionsAttention, true, false)
	b.ready(0).check(scsi.KeyUnitAttention, scsi.ASCModeParametersChanged)
	for _, x := range []*initiator{a, b} { // also to the one that has set it
		x.ready(0).check(scsi.KeyUnitAttention, failureFalse)
		x.ready(0).good()
		if s := polled(x); s.ASC != scsi.ASCNone {
			t.Errorf("REQUEST SENSE: %v", s)
		}
	}
	set(scsi.ExceptionsNotTold, true, false)
	quiet()
	if s := polled(a); s.ASC != scsi.ASCNone {
		t.Errorf("REQUEST SENSE: %v", s)
	}
	set(scsi.ExceptionsAttention, false, false)
	quiet()

	// A store that has lost acknowledged writes predicts a failure that is none in fun.
	fail = lun.ErrLost
	a.do(0, cdb(&scsi.SyncCache{}), nil, 0).check(scsi.KeyMediumError, scsi.ASCWriteError)
	fail = nil
	for _, x := range []*initiator{a, b} {
		x.ready(0).check(scsi.KeyUnitAttention, failure)
		x.ready(0).good()
	}
	set(scsi.ExceptionsOnRequest, false, false)
	quiet()
	if s := polled(b); s.ASC != failure {
		t.Errorf("REQUEST SENSE: %v", s)
	}
	set(scsi.ExceptionsOnRequest, false, true)
	quiet()
	if s := polled(b); s.ASC != scsi.ASCNone {
		t.Errorf("REQUEST SENSE with DEXCPT: %v", s)
	}
}
