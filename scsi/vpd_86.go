package scsi

// VPDExtendedInquiry is the code of the extended INQUIRY data page.
const VPDExtendedInquiry uint8 = 0x86

// ExtendedInquiry is the body of the extended INQUIRY data page (SPC-5 7.7.7).
type ExtendedInquiry struct {
	ActivateMicrocode   uint8 // ACTIVATE_MICROCODE, 0–3
	ProtectionTypes     uint8 // SPT, 0–7
	GuardCheck          bool  // GRD_CHK
	ApplicationCheck    bool  // APP_CHK
	ReferenceCheck      bool  // REF_CHK
	UnitAttentionSense  bool  // UASK_SUP: sense-key specific data with unit attentions
	Grouping            bool  // GROUP_SUP
	Priority            bool  // PRIOR_SUP
	HeadOfQueue         bool  // HEADSUP
	Ordered             bool  // ORDSUP
	Simple              bool  // SIMPSUP
	WriteUncorrectable  bool  // WU_SUP
	CorrectionDisable   bool  // CRD_SUP
	NonVolatileCache    bool  // NV_SUP
	VolatileCache       bool  // V_SUP
	ProtectionInterval  bool  // P_I_I_SUP
	ClearsAttentions    bool  // LUICLR
	Referrals           bool  // R_SUP
	CapabilitySecurity  bool  // CBCS
	MicrocodeDownload   uint8 // MULTI I_T NEXUS MICROCODE DOWNLOAD, 0–15
	SelfTestMinutes     uint16
	PowerOnActivation   bool  // POA_SUP
	HardResetActivation bool  // HRA_SUP
	VendorActivation    bool  // VSA_SUP
	MaxSense            uint8 // MAXIMUM SUPPORTED SENSE DATA LENGTH, bytes
}

var err86Short = shortError("extended INQUIRY data page")

// ParseExtendedInquiry decodes the body of an extended INQUIRY data page. Fields behind its end are zero. Errors:
// ErrShort below four bytes.
func ParseExtendedInquiry(body []byte) (e ExtendedInquiry, err error) {
	if len(body) < 4 {
		return e, err86Short
	}
	var d [10]byte
	copy(d[:], body)
	is := func(at int, mask byte) bool { return d[at]&mask != 0 }
	return ExtendedInquiry{
		ActivateMicrocode: d[0] >> 6, ProtectionTypes: d[0] >> 3 & 7,
		GuardCheck: is(0, 4), ApplicationCheck: is(0, 2), ReferenceCheck: is(0, 1),
		UnitAttentionSense: is(1, 0x20), Grouping: is(1, 0x10), Priority: is(1, 8),
		HeadOfQueue: is(1, 4), Ordered: is(1, 2), Simple: is(1, 1),
		WriteUncorrectable: is(2, 8), CorrectionDisable: is(2, 4), NonVolatileCache: is(2, 2), VolatileCache: is(2, 1),
		ProtectionInterval: is(3, 0x10), ClearsAttentions: is(3, 1),
		Referrals: is(4, 0x10), CapabilitySecurity: is(4, 1),
		MicrocodeDownload: d[5] & 0xf, SelfTestMinutes: uint16(d[6])<<8 | uint16(d[7]),
		PowerOnActivation: is(8, 0x80), HardResetActivation: is(8, 0x40), VendorActivation: is(8, 0x20),
		MaxSense: d[9],
	}, nil
}
