package lun

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"minisrp/scsi"
)

// facts is what a unit answers without looking further, made once for each capacity. It is never changed.
type facts struct {
	info   Info
	blocks uint64
	shift  uint // log2 of the block size

	inquiry    []byte
	pages      []vpdPage
	capacity10 []byte
	capacity16 []byte
}

type vpdPage struct {
	code uint8
	data []byte
}

// companyID stands in NAA names where an IEEE company identifier belongs. Its second bit makes it a locally
// administered one, which no company is assigned.
const companyID = 0x024d53

func newFacts(cfg *Config, info Info) *facts {
	fc := &facts{info: info, shift: uint(bits.TrailingZeros32(info.BlockSize))}
	if cfg.Empty {
		fc.info.Size = 0
	}
	fc.blocks = fc.info.Size >> fc.shift
	per := info.Granularity / info.BlockSize
	capacity := scsi.Capacity{
		LastLBA: fc.blocks - 1, BlockSize: info.BlockSize,
		PhysicalExponent: uint8(min(bits.TrailingZeros32(per), 15)),
		Provisioned:      true, ReadsZeros: true,
	}
	fc.capacity10, fc.capacity16 = capacity.Append10(nil), capacity.Append16(nil)
	fc.inquiry = standardInquiry(scsi.QualifierConnected, scsi.DeviceDisk, cfg.Vendor, cfg.Product, cfg.Revision)
	fc.vpd(cfg, per)
	return fc
}

// standardInquiry makes standard INQUIRY data of what a device behind SRP is.
func standardInquiry(q scsi.PeripheralQualifier, d scsi.DeviceType, vendor, product, revision string) []byte {
	s := scsi.StandardInquiry{
		Qualifier: q, Device: d, Version: 6, HiSup: true, ResponseFormat: 2, CmdQue: true,
		VersionDescriptors: [8]uint16{scsi.VersionSAM5, scsi.VersionSPC4, scsi.VersionSBC3, scsi.VersionSRP},
	}
	if d == scsi.DeviceDisk {
		s.TPGS = 3 // access states are set by initiators and by operators
	}
	s.SetText(vendor, product, revision)
	return s.Append(nil)
}

// vpd makes the vital product data pages; per is the number of blocks that the store keeps together.
func (fc *facts) vpd(cfg *Config, per uint32) {
	bs := fc.info.BlockSize
	limits := scsi.BlockLimits{
		WriteSameNonZero:    true,
		MaxCompareAndWrite:  maxCompareBlocks,
		TransferGranularity: uint16(min(per, 0xffff)),
		MaxTransfer:         MaxTransfer / bs,
		MaxPrefetch:         maxPrefetchBytes / bs,
		MaxUnmapBlocks:      uint32(maxUnmapBytes / uint64(bs)),
		MaxUnmapDescriptors: maxUnmapDescriptors,
		UnmapGranularity:    per,
		UnmapAligned:        true,
		MaxWriteSame:        maxWriteSameBytes / uint64(bs),
	}
	provisioning := scsi.Provisioning{
		Unmap: true, UnmapByWriteSame: true, UnmapByWriteSame10: true, ReadZeros: 1, Type: scsi.ProvisioningThin,
	}
	if _, ok := find[Metered](cfg.Store); ok {
		provisioning.ThresholdExponent = thresholdExponent(fc.blocks, fc.shift)
	}
	characteristics := scsi.BlockCharacteristics{RotationRate: scsi.RotationSolid, VBULS: true}
	bodies := []vpdPage{
		{scsi.VPDSerialNumber, []byte(cfg.Serial)},
		{scsi.VPDIdentification, cfg.designators()},
		{scsi.VPDBlockLimits, limits.Append(nil)},
		{scsi.VPDBlockCharacteristics, characteristics.Append(nil)},
		{scsi.VPDProvisioning, provisioning.Append(nil)},
	}
	list := []byte{scsi.VPDSupportedPages}
	for _, p := range bodies {
		list = append(list, p.code)
	}
	bodies = append([]vpdPage{{scsi.VPDSupportedPages, list}}, bodies...)
	for _, p := range bodies {
		v := scsi.VPD{Device: scsi.DeviceDisk, Page: p.code, Body: p.data}
		fc.pages = append(fc.pages, vpdPage{p.code, v.Append(nil)})
	}
}

// designators returns what names the unit.
func (c *Config) designators() []byte {
	id := unitName(c.Serial)
	naa := scsi.Designator{Type: scsi.DesignatorNAA, CodeSet: scsi.CodeBinary, ID: id[:]}
	return scsi.AppendT10Designator(naa.Append(nil), c.Vendor, c.Serial)
}

// identification makes the device identification page as it is seen through a port, which it names too.
func (u *Unit) identification(at Port) []byte {
	b := scsi.AppendNumberDesignator(u.cfg.designators(), scsi.DesignatorRelativePort, scsi.ProtocolSRP, at.Relative)
	b = scsi.AppendNumberDesignator(b, scsi.DesignatorPortGroup, scsi.ProtocolSRP, at.Group)
	v := scsi.VPD{Device: scsi.DeviceDisk, Page: scsi.VPDIdentification, Body: b}
	return v.Append(nil)
}

// UnitID returns the identity, by VPD page 83h, of the unit with a serial, whether or not there is one now.
func UnitID(serial string) scsi.UnitID {
	id, _ := scsi.UnitIdentity((&Config{Vendor: "-", Serial: serial}).designators()) // there is an NAA designator
	return id
}

// unitName is the NAA registered extended name of the unit with a serial: the same wherever and however often the
// unit is made, and with another serial another.
func unitName(serial string) [16]byte {
	h := sha256.Sum256([]byte(serial))
	return scsi.NAA6(companyID, binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:16]))
}
