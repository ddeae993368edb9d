package disktest

import (
	"slices"

	"minisrp/miniport"
	"minisrp/scsi"
)

var good = scsi.Sense{}

func illegal(code scsi.ASC) scsi.Sense { return scsi.MakeSense(scsi.KeyIllegalRequest, code) }

// execute carries a command out and returns the sense data, NO SENSE for GOOD.
func (u *Unit) execute(s *miniport.SRB) scsi.Sense {
	cdb := s.CDB[:s.CDBLength]
	op := scsi.Opcode(cdb[0])
	if slices.Contains(u.Config.Unknown, op) {
		return illegal(scsi.ASCInvalidOpcode)
	}
	switch op {
	case scsi.OpTestUnitReady:
		return good
	case scsi.OpInquiry:
		return u.inquiry(s, cdb)
	case scsi.OpReadCapacity10:
		scatter(s, u.Config.Capacity.Append10(u.answer[:0]), scsi.Capacity10Size)
		return good
	case scsi.OpPreFetch10, scsi.OpPreFetch16:
		return u.prefetch(cdb)
	case scsi.OpServiceActionIn:
		if sa, _ := scsi.ServiceAction(cdb); sa == scsi.SAGetLBAStatus16 {
			return u.lbaStatus(s, cdb)
		}
		c, err := scsi.ParseReadCapacity16(cdb)
		if err != nil {
			return illegal(scsi.ASCInvalidOpcode)
		}
		scatter(s, u.Config.Capacity.Append16(u.answer[:0]), uint64(c.AllocationLength))
		return good
	case scsi.OpModeSense6, scsi.OpModeSense10:
		return u.modeSense(s, cdb)
	case scsi.OpMaintenanceIn:
		return u.reportSupported(s, cdb)
	case scsi.OpSynchronizeCache, scsi.OpSyncCache16:
		return u.synchronize(cdb)
	case scsi.OpUnmap:
		return u.unmap(s)
	case scsi.OpWriteSame10, scsi.OpWriteSame16:
		return u.writeSame(s, cdb)
	}
	if scsi.IsRW(cdb) {
		return u.readWrite(s, cdb)
	}
	return illegal(scsi.ASCInvalidOpcode)
}

func (u *Unit) inquiry(s *miniport.SRB, cdb []byte) scsi.Sense {
	c, err := scsi.ParseInquiry(cdb)
	if err != nil {
		return illegal(scsi.ASCInvalidFieldInCDB)
	}
	cfg := &u.Config
	if !c.EVPD {
		scatter(s, cfg.Inquiry.Append(u.answer[:0]), uint64(c.AllocationLength))
		return good
	}
	v := scsi.VPD{Page: c.Page}
	switch {
	case c.Page == scsi.VPDSupportedPages:
		v.Body = append(v.Body, scsi.VPDSupportedPages)
		for _, p := range [...]struct {
			code uint8
			have bool
		}{
			{scsi.VPDSerialNumber, cfg.Serial != ""}, {scsi.VPDIdentification, cfg.NAA != [16]byte{}},
			{scsi.VPDBlockLimits, cfg.Limits != nil}, {scsi.VPDBlockCharacteristics, cfg.Characteristics != nil},
			{scsi.VPDProvisioning, cfg.Provisioning != nil},
		} {
			if p.have {
				v.Body = append(v.Body, p.code)
			}
		}
	case c.Page == scsi.VPDSerialNumber && cfg.Serial != "":
		v.Body = []byte(cfg.Serial)
	case c.Page == scsi.VPDIdentification && cfg.NAA != [16]byte{}:
		d := scsi.Designator{Type: scsi.DesignatorNAA, CodeSet: scsi.CodeBinary, ID: cfg.NAA[:]}
		v.Body = d.Append(nil)
	case c.Page == scsi.VPDBlockLimits && cfg.Limits != nil:
		v.Body = cfg.Limits.Append(nil)
	case c.Page == scsi.VPDBlockCharacteristics && cfg.Characteristics != nil:
		v.Body = cfg.Characteristics.Append(nil)
	case c.Page == scsi.VPDProvisioning && cfg.Provisioning != nil:
		v.Body = cfg.Provisioning.Append(nil)
	default:
		return illegal(scsi.ASCInvalidFieldInCDB)
	}
	scatter(s, v.Append(u.answer[:0]), uint64(c.AllocationLength))
	return good
}

func (u *Unit) modeSense(s *miniport.SRB, cdb []byte) scsi.Sense {
	c, err := scsi.ParseModeSense(cdb)
	if err != nil {
		return illegal(scsi.ASCInvalidFieldInCDB)
	}
	caching := scsi.CachingPage{WriteCache: u.Config.WriteCache}
	control := scsi.ControlPage{}
	var pages []byte
	switch {
	case c.Page == scsi.ModePageCaching && !u.Config.NoCachingPage:
		pages = caching.Append(nil)
	case c.Page == scsi.ModePageControl:
		pages = control.Append(nil)
	case c.Page == scsi.ModePageAll:
		pages = control.Append(nil)
		if !u.Config.NoCachingPage {
			pages = caching.Append(pages)
		}
	default:
		return illegal(scsi.ASCInvalidFieldInCDB)
	}
	h := scsi.ModeHeader{WriteProtected: u.Config.WriteProtected, DPOFUA: u.Config.DPOFUA}
	scatter(s, h.AppendModeData(u.answer[:0], c.Ten, pages), uint64(c.AllocationLength))
	return good
}

func (u *Unit) reportSupported(s *miniport.SRB, cdb []byte) scsi.Sense {
	c, err := scsi.ParseReportSupported(cdb)
	if err != nil || c.Options != scsi.ReportByOpcode && c.Options != scsi.ReportByAction {
		return illegal(scsi.ASCInvalidFieldInCDB)
	}
	one := scsi.OneCommand{Support: scsi.SupportNone}
	known, ok := scsi.LookupCommand(c.Opcode, c.ServiceAction)
	switch {
	case ok && known.HasServiceAction != (c.Options == scsi.ReportByAction):
		return illegal(scsi.ASCInvalidFieldInCDB)
	case ok && c.ServiceAction == scsi.SAGetLBAStatus16:
		ok = u.Config.LBAStatus
	case ok && (c.Opcode == scsi.OpPreFetch16 || c.Opcode == scsi.OpPreFetch10):
		ok = u.Config.Prefetch
	}
	if ok && !slices.Contains(u.Config.Unknown, c.Opcode) {
		one.Support = scsi.SupportStandard
		one.Usage = known.Usage[:known.Length]
		if c.Opcode == scsi.OpWriteSame16 {
			one.Usage[1] &^= 1
			if u.Config.NoData {
				one.Usage[1] |= 1
			}
		}
	}
	scatter(s, one.Append(u.answer[:0]), uint64(c.AllocationLength))
	return good
}

// within reports whether the blocks exist.
func (u *Unit) within(lba, blocks uint64) bool {
	count, _ := u.Config.Capacity.Blocks()
	return lba <= count && blocks <= count-lba
}

// bytes is where the blocks are.
func (u *Unit) bytes(all []byte, lba, blocks uint64) []byte {
	if all == nil {
		return nil
	}
	size := uint64(u.Config.Capacity.BlockSize)
	return all[lba*size : (lba+blocks)*size]
}

func (u *Unit) readWrite(s *miniport.SRB, cdb []byte) scsi.Sense {
	c, err := scsi.ParseRW(cdb)
	limits := u.Config.Limits
	switch {
	case err != nil || c.FUA && !u.Config.DPOFUA:
		return illegal(scsi.ASCInvalidFieldInCDB)
	case !u.within(c.LBA, uint64(c.Blocks)):
		return illegal(scsi.ASCLBAOutOfRange)
	case limits != nil && limits.MaxTransfer != 0 && c.Blocks > limits.MaxTransfer:
		return illegal(scsi.ASCInvalidFieldInCDB)
	case uint64(s.Length) != uint64(c.Blocks)*uint64(u.Config.Capacity.BlockSize):
		return illegal(scsi.ASCInvalidFieldInCDB)
	case c.Write && u.Config.WriteProtected:
		return scsi.MakeSense(scsi.KeyDataProtect, scsi.ASCWriteProtected)
	}
	data := u.bytes(u.Data, c.LBA, uint64(c.Blocks))
	s.Transferred = s.Length
	if !c.Write {
		for _, g := range s.Data {
			m := g.Bytes()
			data = data[copy(m, data):]
		}
		return good
	}
	for _, g := range s.Data {
		data = data[copy(data, g.Bytes()):]
	}
	u.mark(c.LBA, uint64(c.Blocks), false)
	u.written(c.LBA, uint64(c.Blocks), c.FUA)
	return good
}

// written makes blocks durable unless they are in the write cache.
func (u *Unit) written(lba, blocks uint64, through bool) {
	if through || !u.Config.WriteCache {
		copy(u.bytes(u.Durable, lba, blocks), u.bytes(u.Data, lba, blocks))
	}
}

func (u *Unit) synchronize(cdb []byte) scsi.Sense {
	c, err := scsi.ParseSyncCache(cdb)
	if err != nil {
		return illegal(scsi.ASCInvalidFieldInCDB)
	}
	blocks := uint64(c.Blocks)
	if blocks == 0 {
		count, _ := u.Config.Capacity.Blocks()
		blocks = count - min(c.LBA, count)
	}
	if !u.within(c.LBA, blocks) {
		return illegal(scsi.ASCLBAOutOfRange)
	}
	u.written(c.LBA, blocks, true)
	return good
}

// trash is what unmapped blocks of a unit without LBPRZ read as.
const trash = 0xa5

// deallocate unmaps whole granules.
func (u *Unit) deallocate(lba, blocks uint64) {
	fill := byte(trash)
	if u.Config.Capacity.ReadsZeros {
		fill = 0
	}
	g, a := uint64(1), uint64(0)
	if l := u.Config.Limits; l != nil {
		g = max(1, uint64(l.UnmapGranularity))
		if l.UnmapAligned {
			a = uint64(l.UnmapAlignment)
		}
	}
	count, _ := u.Config.Capacity.Blocks()
	for n := uint64(0); u.Data != nil && n < blocks; n++ {
		at := lba + n
		first, last := uint64(0), min(a, count) // in front of the first granule
		if at >= a {
			first = at - (at-a)%g
			last = min(first+g, count)
		}
		if first >= lba && last <= lba+blocks {
			b := u.bytes(u.Data, at, 1)
			for i := range b {
				b[i] = fill
			}
			u.mark(at, 1, true)
		}
	}
	u.written(lba, blocks, false)
}

func (u *Unit) unmap(s *miniport.SRB) scsi.Sense {
	p, l := u.Config.Provisioning, u.Config.Limits
	if p == nil || !p.Unmap || l == nil {
		return illegal(scsi.ASCInvalidOpcode)
	}
	list, err := scsi.ParseUnmapList(gather(s))
	if err != nil {
		return illegal(scsi.ASCParameterListLength)
	}
	if uint64(list.Len()) > uint64(l.MaxUnmapDescriptors) {
		return illegal(scsi.ASCInvalidFieldInParameters)
	}
	total := uint64(0)
	for i := range list.Len() {
		e := list.At(i)
		if !u.within(e.LBA, uint64(e.Blocks)) {
			return illegal(scsi.ASCLBAOutOfRange)
		}
		total += uint64(e.Blocks)
	}
	if l.MaxUnmapBlocks != 1<<32-1 && total > uint64(l.MaxUnmapBlocks) {
		return illegal(scsi.ASCInvalidFieldInParameters)
	}
	for i := range list.Len() {
		e := list.At(i)
		u.deallocate(e.LBA, uint64(e.Blocks))
	}
	s.Transferred = s.Length
	return good
}

func (u *Unit) writeSame(s *miniport.SRB, cdb []byte) scsi.Sense {
	c, err := scsi.ParseWriteSame(cdb)
	l, p := u.Config.Limits, u.Config.Provisioning
	ten := len(cdb) == 10
	blocks := uint64(c.Blocks)
	switch {
	case err != nil, c.NoData && !u.Config.NoData, blocks == 0:
		return illegal(scsi.ASCInvalidFieldInCDB)
	case c.Unmap && (p == nil || ten && !p.UnmapByWriteSame10 || !ten && !p.UnmapByWriteSame):
		return illegal(scsi.ASCInvalidFieldInCDB)
	case !u.within(c.LBA, blocks):
		return illegal(scsi.ASCLBAOutOfRange)
	case l != nil && l.MaxWriteSame != 0 && blocks > l.MaxWriteSame,
		u.Config.MaxWriteSame != 0 && blocks > u.Config.MaxWriteSame:
		return illegal(scsi.ASCInvalidFieldInCDB)
	case u.Config.WriteProtected:
		return scsi.MakeSense(scsi.KeyDataProtect, scsi.ASCWriteProtected)
	}
	size := int(u.Config.Capacity.BlockSize)
	block := make([]byte, size)
	if !c.NoData && copy(block, gather(s)) != size {
		return illegal(scsi.ASCInvalidFieldInCDB)
	}
	data := u.bytes(u.Data, c.LBA, blocks)
	for len(data) > 0 {
		data = data[copy(data, block):]
	}
	u.mark(c.LBA, blocks, false)
	u.written(c.LBA, blocks, false)
	if c.Unmap {
		u.deallocate(c.LBA, blocks)
	}
	s.Transferred = s.Length
	return good
}

// gather returns a command's data.
func gather(s *miniport.SRB) []byte {
	var b []byte
	for _, g := range s.Data {
		b = append(b, g.Bytes()...)
	}
	return b
}

// scatter moves the answer to where the command wants it, cut at its allocation length.
func scatter(s *miniport.SRB, b []byte, allocation uint64) {
	b = b[:min(uint64(len(b)), allocation, uint64(s.Length))]
	s.Transferred = uint32(len(b))
	for _, g := range s.Data {
		b = b[copy(g.Bytes(), b):]
	}
}
