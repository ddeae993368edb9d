package decode

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"minisrp/scsi"
)

// page is a vital product data page.
type page struct {
	code   uint8
	short  string // sg_vpd's abbreviation
	name   string
	decode func(*facts, *scsi.VPD) error // nil: in hexadecimal digits only
}

// pages are those that have names.
var pages = []page{
	{scsi.VPDSupportedPages, "sv", "Supported VPD pages", nil}, // see supported
	{scsi.VPDSerialNumber, "sn", "Unit serial number", (*facts).serial},
	{scsi.VPDIdentification, "di", "Device identification", (*facts).identification},
	{0x85, "mna", "Management network addresses", nil},
	{0x86, "ei", "Extended inquiry data", (*facts).extended},
	{0x87, "mpp", "Mode page policy", nil},
	{0x88, "sp", "SCSI ports", nil},
	{0x8f, "tpc", "Third party copy", nil},
	{scsi.VPDBlockLimits, "bl", "Block limits", (*facts).blockLimits},
	{scsi.VPDBlockCharacteristics, "bdc", "Block device characteristics", (*facts).characteristics},
	{scsi.VPDProvisioning, "lbpv", "Logical block provisioning", (*facts).provisioning},
	{0xb3, "ref", "Referrals", nil},
}

// PageName returns the name of a page, "" for one that has none.
func PageName(code uint8) string {
	if i := slices.IndexFunc(pages, func(p page) bool { return p.code == code }); i >= 0 {
		return pages[i].name
	}
	return ""
}

// ParsePage reads the code of a page: hexadecimal digits, with or without 0x, or an abbreviation that sg_vpd has.
func ParsePage(s string) (uint8, error) {
	if i := slices.IndexFunc(pages, func(p page) bool { return p.short == s }); i >= 0 {
		return pages[i].code, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(s), "0x"), 16, 8)
	if err != nil {
		var known []string
		for _, p := range pages {
			known = append(known, p.short)
		}
		return 0, fmt.Errorf("page %.20q: want 00 to ff, or one of %s", s, strings.Join(known, ", "))
	}
	return uint8(n), nil
}

// Supported returns the codes that a supported pages page (00h) lists.
func Supported(b []byte) ([]uint8, error) {
	v, err := scsi.ParseVPD(b, scsi.VPDSupportedPages)
	return v.Body, err
}

// VPD decodes the vital product data page code. One that this package knows by name only, or not at all, has its bytes
// as its one fact.
func VPD(b []byte, code uint8) ([]Fact, error) {
	v, err := scsi.ParseVPD(b, code)
	if err != nil {
		return nil, err
	}
	var f facts
	i := slices.IndexFunc(pages, func(p page) bool { return p.code == code })
	switch {
	case code == scsi.VPDSupportedPages:
		f.supported(&v)
	case i < 0 || pages[i].decode == nil:
		f.add("bytes", "%x", v.Body)
	default:
		if err := pages[i].decode(&f, &v); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *facts) supported(v *scsi.VPD) {
	for _, code := range v.Body {
		f.add(fmt.Sprintf("0x%02x", code), "%s", PageName(code))
	}
}

func (f *facts) serial(v *scsi.VPD) error {
	f.add("Unit serial number", "%s", v.SerialText())
	return nil
}

// The words of designators.
var (
	associations = [...]string{scsi.NamesUnit: "Logical unit", scsi.NamesPort: "Target port", scsi.NamesTarget: "Target device", 3: "Reserved"}
	designators  = [...]string{"vendor specific", "T10 vendor identification", "EUI-64 based", "NAA", "Relative target port",
		"Target port group", "Logical unit group", "MD5 logical unit identifier", "SCSI name string", "Protocol specific port identifier", "UUID"}
)

func (f *facts) identification(v *scsi.VPD) error {
	for rest := v.Body; ; {
		d, behind, ok := scsi.NextDesignator(rest)
		if !ok {
			break
		}
		kind := fmt.Sprintf("designator type %d", d.Type)
		if int(d.Type) < len(designators) {
			kind = designators[d.Type]
		}
		f.add(associations[d.Association]+", "+kind, "%s", designator(&d))
		rest = behind
	}
	if id, ok := scsi.UnitIdentity(v.Body); ok {
		f.add("Identity", "%s", id)
	}
	return nil
}

// designator writes a designator as it is best read.
func designator(d *scsi.Designator) string {
	if n, ok := d.Number(); ok {
		return fmt.Sprintf("0x%x", n)
	}
	if d.CodeSet != scsi.CodeBinary {
		return printable(d.ID)
	}
	if len(d.ID) == 0 {
		return "(empty)"
	}
	return "0x" + hex.EncodeToString(d.ID)
}

// printable returns text without padding, and without what a terminal would act upon.
func printable(b []byte) string {
	s := strings.TrimRight(string(b), " \x00")
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) && r != '\ufffd' {
			return r
		}
		return '.'
	}, s)
}

func (f *facts) extended(v *scsi.VPD) error {
	e, err := scsi.ParseExtendedInquiry(v.Body)
	if err != nil {
		return err
	}
	f.add("ACTIVATE_MICROCODE", "%d", e.ActivateMicrocode)
	f.add("SPT", "%d", e.ProtectionTypes)
	f.bit("GRD_CHK", e.GuardCheck)
	f.bit("APP_CHK", e.ApplicationCheck)
	f.bit("REF_CHK", e.ReferenceCheck)
	f.bit("UASK_SUP", e.UnitAttentionSense)
	f.bit("GROUP_SUP", e.Grouping)
	f.bit("PRIOR_SUP", e.Priority)
	f.bit("HEADSUP", e.HeadOfQueue)
	f.bit("ORDSUP", e.Ordered)
	f.bit("SIMPSUP", e.Simple)
	f.bit("WU_SUP", e.WriteUncorrectable)
	f.bit("CRD_SUP", e.CorrectionDisable)
	f.bit("NV_SUP", e.NonVolatileCache)
	f.bit("V_SUP", e.VolatileCache)
	f.bit("P_I_I_SUP", e.ProtectionInterval)
	f.bit("LUICLR", e.ClearsAttentions)
	f.bit("R_SUP", e.Referrals)
	f.bit("CBCS", e.CapabilitySecurity)
	f.add("Multi I_T nexus microcode download", "%d", e.MicrocodeDownload)
	f.add("Extended self-test completion minutes", "%d", e.SelfTestMinutes)
	f.bit("POA_SUP", e.PowerOnActivation)
	f.bit("HRA_SUP", e.HardResetActivation)
	f.bit("VSA_SUP", e.VendorActivation)
	f.add("Maximum supported sense data length", "%d", e.MaxSense)
	return nil
}

// unlimited is what the limits of UNMAP say for no limit.
const unlimited = 0xffffffff

func (f *facts) blockLimits(v *scsi.VPD) error {
	l, err := scsi.ParseBlockLimits(v.Body)
	if err != nil {
		return err
	}
	const silent, refused = "not reported", "command not implemented"
	f.bit("Write same non-zero (WSNZ)", l.WriteSameNonZero)
	f.count("Maximum compare and write length", uint64(l.MaxCompareAndWrite), "blocks", refused)
	f.count("Optimal transfer length granularity", uint64(l.TransferGranularity), "blocks", silent)
	f.count("Maximum transfer length", uint64(l.MaxTransfer), "blocks", silent)
	f.count("Optimal transfer length", uint64(l.OptimalTransfer), "blocks", silent)
	if len(v.Body) < 16 {
		return nil // SBC-2 ends here
	}
	f.count("Maximum prefetch transfer length", uint64(l.MaxPrefetch), "blocks", "ignored")
	if len(v.Body) < 60 {
		return nil
	}
	f.limit("Maximum unmap LBA count", l.MaxUnmapBlocks, refused)
	f.limit("Maximum unmap block descriptor count", l.MaxUnmapDescriptors, refused)
	f.count("Optimal unmap granularity", uint64(l.UnmapGranularity), "blocks", silent)
	f.bit("Unmap granularity alignment valid", l.UnmapAligned)
	if l.UnmapAligned {
		f.add("Unmap granularity alignment", "%d", l.UnmapAlignment)
	}
	f.count("Maximum write same length", l.MaxWriteSame, "blocks", silent)
	f.count("Maximum atomic transfer length", uint64(l.MaxAtomicTransfer), "blocks", silent)
	f.count("Atomic alignment", uint64(l.AtomicAlignment), "blocks", "unaligned atomic writes permitted")
	f.count("Atomic transfer length granularity", uint64(l.AtomicGranularity), "blocks", "no granularity requirement")
	f.count("Maximum atomic transfer length with atomic boundary", uint64(l.MaxAtomicBoundedXfer), "blocks", silent)
	f.count("Maximum atomic boundary size", uint64(l.MaxAtomicBoundary), "blocks", "can only write atomic 1 block")
	return nil
}

func (f *facts) limit(name string, n uint32, zero string) {
	if n == unlimited {
		f.add(name, "-1 (unbounded)")
		return
	}
	f.count(name, uint64(n), "", zero)
}

func (f *facts) characteristics(v *scsi.VPD) error {
	c, err := scsi.ParseBlockCharacteristics(v.Body)
	if err != nil {
		return err
	}
	switch c.RotationRate {
	case scsi.RotationUnknown:
		f.add("Nominal rotation rate", "0 (not reported)")
	case scsi.RotationSolid:
		f.add("Nominal rotation rate", "1 (non-rotating medium, such as solid state)")
	default:
		f.add("Nominal rotation rate", "%d rpm", c.RotationRate)
	}
	f.add("Product type", "%d", c.ProductType)
	f.add("WABEREQ", "%d", c.WriteAfterErase)
	f.add("WACEREQ", "%d", c.WriteAfterSanitize)
	f.add("Nominal form factor", "%s", named(map[uint8]string{0: "not reported", 1: "5.25 inch", 2: "3.5 inch", 3: "2.5 inch",
		4: "1.8 inch", 5: "less than 1.8 inch"}, c.FormFactor, "%d"))
	f.add("ZONED", "%d", c.Zoned)
	f.bit("FUAB", c.FUAB)
	f.bit("VBULS", c.VBULS)
	return nil
}

func (f *facts) provisioning(v *scsi.VPD) error {
	p, err := scsi.ParseProvisioning(v.Body)
	if err != nil {
		return err
	}
	f.bit("Unmap command supported (LBPU)", p.Unmap)
	f.bit("Write same (16) with unmap bit supported (LBPWS)", p.UnmapByWriteSame)
	f.bit("Write same (10) with unmap bit supported (LBPWS10)", p.UnmapByWriteSame10)
	f.add("Logical block provisioning read zeros (LBPRZ)", "%d", p.ReadZeros)
	f.bit("Anchored LBAs supported (ANC_SUP)", p.AnchorSupported)
	f.count("Threshold exponent", uint64(p.ThresholdExponent), "", "threshold sets not supported")
	f.bit("Descriptor present (DP)", p.GroupDescriptor)
	f.count("Minimum percentage", uint64(p.MinimumPercentage), "", "not reported")
	f.add("Provisioning type", "%s", named(map[uint8]string{scsi.ProvisioningUnknown: "not known or fully provisioned",
		scsi.ProvisioningResource: "resource provisioned", scsi.ProvisioningThin: "thin provisioned"}, p.Type, "%d"))
	f.count("Threshold percentage", uint64(p.ThresholdPercentage), "", "percentages not supported")
	return nil
}
