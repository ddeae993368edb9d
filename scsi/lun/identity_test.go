package lun_test

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/verbs/dispatch"
)

// inquiryUnit is a unit whose INQUIRY data tests compare.
func inquiryUnit(t *testing.T) *initiator {
	s := newServer()
	attach(t, s, 0, lun.Config{
		Store: file(t, testSize), Serial: "0123-serial-of-unit", Vendor: "ACME", Product: "Thin file", Revision: "7.2",
	})
	return newInitiator(t, s)
}

func (x *initiator) inquiry(n uint8, evpd bool, page uint8) []byte {
	x.tb.Helper()
	return x.do(n, cdb(&scsi.Inquiry{EVPD: evpd, Page: page, AllocationLength: 4096}), nil, 4096).good().got
}

// wants fails the test for each pattern that a tool's text has no match for.
func wants(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			t.Errorf("no match for %q in:\n%s", p, text)
		}
	}
}

// sg_inq reads standard INQUIRY data as they are meant.
func TestInquiryBySgInq(t *testing.T) {
	x := inquiryUnit(t)
	out := tool(t, x.inquiry(0, false, 0), "sg_inq", "--raw", "--inhex=FILE", "--descriptors")
	wants(t, out, `PQual=0 +PDT=0`, `RMB=0`, `version=0x06 +\[SPC-4\]`, `HiSUP=1`, `Resp_data_format=2`, `CmdQue=1`, `TPGS=3`, `3PC=0`,
		`length=96 `, `Vendor identification: ACME`, `Product identification: Thin file`, `Product revision level: 7.2`,
		`SAM-5`, `SPC-4`, `SBC-3`, `SRP`)
}

// sg_vpd reads every page that the unit lists, and they say what the unit does.
func TestVPDBySgVpd(t *testing.T) {
	x := inquiryUnit(t)
	pages := x.inquiry(0, true, 0)[4:]
	if !bytes.Equal(pages, []byte{0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2}) {
		t.Fatalf("supported pages % x", pages)
	}
	for page, patterns := range map[uint8][]string{
		0x00: {`Supported VPD pages`, `Block limits`, `Logical block provisioning`},
		0x80: {`Unit serial number: 0123-serial-of-unit`},
		0x83: {`designator type: NAA,  code set: Binary`, `0x6024d53[0-9a-f]{25}\b`,
			`designator type: T10 vendor identification,  code set: ASCII`, `vendor id: ACME`, `vendor specific: 0123-serial-of-unit`,
			`Relative target port: 0x1\b`, `Target port group: 0x1\b`},
		0xb0: {`Maximum compare and write length: 128 blocks`, `Maximum prefetch transfer length: 131072 blocks`, `Write same non-zero \(WSNZ\): 1`, `Maximum transfer length: 16384 blocks`, `Optimal transfer length granularity: 8 blocks`,
			`Maximum unmap LBA count: 8388608`, `Maximum unmap block descriptor count: 255`, `Optimal unmap granularity: 8 blocks`,
			`Unmap granularity alignment valid: true`, `Unmap granularity alignment: 0`, `Maximum write same length: 0x80000 blocks`},
		0xb1: {`Non-rotating medium`, `VBULS=1`},
		0xb2: {`Unmap command supported \(LBPU\): 1`, `Write same \(16\) with unmap bit supported \(LBPWS\): 1`,
			`Write same \(10\) with unmap bit supported \(LBPWS10\): 1`, `Logical block provisioning read zeros \(LBPRZ\): 1`,
			`Anchored LBAs supported \(ANC_SUP\): 0`, `Provisioning type: 2 \(thin provisioned\)`, `Threshold exponent: 11\b`},
	} {
		wants(t, tool(t, x.inquiry(0, true, page), "sg_vpd", "--raw", "--inhex=FILE", "--page="+hexByte(page)), patterns...)
	}
	x.do(0, cdb(&scsi.Inquiry{EVPD: true, Page: 0xc0, AllocationLength: 255}), nil, 255).
		check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	x.do(0, cdb(&scsi.Inquiry{Page: 0x80, AllocationLength: 255}), nil, 255).
		check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
}

func hexByte(b uint8) string {
	return "0x" + string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15])
}

// The name of a unit follows from its serial, and from nothing else.
func TestIdentityFollowsSerial(t *testing.T) {
	name := func(cfg lun.Config) scsi.UnitID {
		s := newServer()
		attach(t, s, 3, cfg)
		x := newInitiator(t, s)
		id, ok := scsi.UnitIdentity(x.inquiry(3, true, scsi.VPDIdentification)[4:])
		if !ok {
			t.Fatal("no name")
		}
		return id
	}
	a := name(lun.Config{Store: ram(testSize), Serial: "a"})
	if b := name(lun.Config{Store: file(t, 2*testSize), Serial: "a", Vendor: "OTHER"}); a != b {
		t.Errorf("%s and %s for one serial", a, b)
	}
	if b := name(lun.Config{Store: ram(testSize), Serial: "b"}); a == b {
		t.Errorf("%s for two serials", a)
	}
	if !strings.HasPrefix(string(a), "naa.6") {
		t.Errorf("%s is not NAA registered extended", a)
	}
}

func TestReadCapacity(t *testing.T) {
	for _, c := range []struct {
		store lun.Store
		want  scsi.Capacity
		last  uint32
	}{
		{file(t, testSize), scsi.Capacity{LastLBA: testBlocks - 1, BlockSize: 512, PhysicalExponent: 3, Provisioned: true, ReadsZeros: true}, testBlocks - 1},
		{must(lun.NewNull(1<<50, 4096)), scsi.Capacity{LastLBA: 1<<38 - 1, BlockSize: 4096, Provisioned: true, ReadsZeros: true}, 0xffffffff},
		{must(lun.NewNull(512, 512)), scsi.Capacity{BlockSize: 512, Provisioned: true, ReadsZeros: true}, 0},
	} {
		s := newServer()
		attach(t, s, 0, lun.Config{Store: c.store})
		x := newInitiator(t, s)
		x.attentions(0)
		if got := must(scsi.ParseCapacity16(x.do(0, cdb(&scsi.ReadCapacity16{AllocationLength: 32}), nil, 32).good().got)); got != c.want {
			t.Errorf("READ CAPACITY(16): %+v, want %+v", got, c.want)
		}
		var b scsi.CDB
		scsi.PutReadCapacity10(&b)
		if got := must(scsi.ParseCapacity10(x.do(0, b[:], nil, 8).good().got)); got.LastLBA != uint64(c.last) || got.BlockSize != c.want.BlockSize {
			t.Errorf("READ CAPACITY(10): %+v, want last block %#x", got, c.last)
		}
	}
}

// A unit without blocks says so as SBC-4 5.20 has it, the address before the first one, and has no block to read.
func TestEmpty(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: must(lun.NewNull(1<<20, 512)), Empty: true})
	x := newInitiator(t, s)
	x.attentions(0)
	c := must(scsi.ParseCapacity16(x.do(0, cdb(&scsi.ReadCapacity16{AllocationLength: 32}), nil, 32).good().got))
	if n, ok := c.Blocks(); ok {
		t.Errorf("READ CAPACITY(16) says %d blocks", n)
	}
	x.do(0, cdb(&scsi.RW{Blocks: 1}), nil, testBlock).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
	x.do(0, cdb(&scsi.SyncCache{}), nil, 0).good()
}

func TestModeSense(t *testing.T) {
	x := inquiryUnit(t)
	x.attentions(0)
	for _, ten := range []bool{false, true} {
		for _, m := range []scsi.ModeSense{
			{Page: scsi.ModePageAll}, {Page: scsi.ModePageAll, Subpage: scsi.ModeSubpageAll}, {Page: scsi.ModePageCaching},
			{Page: scsi.ModePageControl}, {Page: scsi.ModePageAll, DBD: true}, {Page: scsi.ModePageAll, LLBAA: true},
			{Page: scsi.ModePageCaching, Control: scsi.PageChangeable}, {Page: scsi.ModePageCaching, Control: scsi.PageDefault},
			{Page: scsi.ModePageCaching, Control: scsi.PageSaved}, {Page: scsi.ModePageCaching, Subpage: scsi.ModeSubpageAll},
		} {
			if m.Ten, m.AllocationLength = ten, 255; m.LLBAA && !ten {
				continue
			}
			h, pages, err := scsi.ParseModeData(x.do(0, cdb(&m), nil, 255).good().got, ten)
			if err != nil || !h.DPOFUA || h.WriteProtected || h.HasDescriptor == m.DBD || h.LongLBA != m.LLBAA {
				t.Errorf("%+v: %+v, %v", m, h, err)
			}
			if h.HasDescriptor && h.Descriptor != (scsi.ModeBlockDescriptor{Blocks: testBlocks, BlockSize: testBlock}) {
				t.Errorf("%+v: block descriptor %+v", m, h.Descriptor)
			}
			body, ok := scsi.FindModePage(pages, scsi.ModePageCaching, 0)
			if ok != (m.Page != scsi.ModePageControl) {
				t.Errorf("%+v: caching page %v", m, ok)
			}
			if ok {
				if p := must(scsi.ParseCachingPage(body)); !p.WriteCache {
					t.Errorf("%+v: %+v", m, p)
				}
			}
			if body, ok := scsi.FindModePage(pages, scsi.ModePageControl, 0); ok {
				if p := must(scsi.ParseControlPage(body)); !p.TaskAborted || p.QueueAlgorithm != 1 || p.TaskSetType != 0 || p.QueueErrors != 0 {
					t.Errorf("%+v: %+v", m, p)
				}
			} else if m.Page != scsi.ModePageCaching {
				t.Errorf("%+v: no control page", m)
			}
		}
		x.do(0, cdb(&scsi.ModeSense{Ten: ten, Page: 0x1a, AllocationLength: 255}), nil, 255).
			check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		x.do(0, cdb(&scsi.ModeSense{Ten: ten, Page: scsi.ModePageControl, Subpage: 1, AllocationLength: 255}), nil, 255).
			check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		if _, pages, err := scsi.ParseModeData(x.do(0, cdb(&scsi.ModeSense{Ten: ten, AllocationLength: 255}), nil, 255).good().got, ten); err != nil || len(pages) != 0 {
			t.Errorf("page 0: % x, %v, want the header alone", pages, err)
		}
	}
}

func TestConfigRefused(t *testing.T) {
	p := dispatch.NewManual("p")
	store := ram(testSize)
	defer store.Close(context.Background())
	for _, cfg := range []lun.Config{
		{}, {Serial: strings.Repeat("s", 65)}, {Serial: "tab\t"}, {Serial: "s", Vendor: "NINELONGX"},
		{Serial: "s", Product: strings.Repeat("p", 17)}, {Serial: "s", Revision: "12345"}, {Serial: "s", Product: "ü"},
		{Serial: "s", Workers: -1}, {Serial: "s", Workers: lun.MaxWorkers + 1},
	} {
		cfg.Store = store
		if _, err := lun.NewUnit(p, cfg); !errors.Is(err, lun.ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	for _, c := range []struct {
		size  uint64
		block uint32
	}{{0, 512}, {100, 512}, {512, 0}, {513, 512}, {1 << 20, 513}, {1 << 20, 256}, {1 << 20, 8192}, {1 << 63, 512}} {
		if _, err := lun.NewNull(c.size, c.block); !errors.Is(err, lun.ErrGeometry) {
			t.Errorf("null store of %d bytes in blocks of %d: %v", c.size, c.block, err)
		}
		if _, err := lun.NewRAM(c.size, c.block); !errors.Is(err, lun.ErrGeometry) {
			t.Errorf("ram store of %d bytes in blocks of %d: %v", c.size, c.block, err)
		}
	}
}
