package disk

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"minisrp/scsi"
)

// identify asks the unit for everything that Info tells. It is used by Open, and again when the unit says that
// something has changed.
//
//	INQUIRY → TEST UNIT READY → VPD pages → READ CAPACITY → MODE SENSE → REPORT SUPPORTED OPERATION CODES
//
// INQUIRY comes first because an absent unit answers it too.
func (d *Disk) identify(ctx context.Context) (*view, error) {
	id := identification{d: d, caps: canSync10 | canSync16 | canSame16 | canSame10 | canStatus}
	if err := d.takeControl(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if !d.asking { // else the unit may still reach it
			d.returnControl()
		}
	}()
	steps := [...]func(context.Context) error{
		id.inquiry, id.ready, id.pages, id.capacity, id.mode, id.commands,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	id.limits()
	v := newView(id.info, id.caps)
	if most := id.blockLimits.MaxPrefetch; most != 0 {
		v.prefetch = uint64(most)
	}
	return v, nil
}

// identification is what is gathered on the way.
type identification struct {
	d    *Disk
	info Info
	caps caps

	standard     scsi.StandardInquiry
	capacityData scsi.Capacity
	blockLimits  scsi.BlockLimits
	provisioning scsi.Provisioning
	hasLimits    bool
	provisioned  bool // there is a provisioning page
}

// lacks reports whether the unit refused a command or page that it need not have.
func lacks(err error) bool { return errors.Is(err, scsi.ErrIllegalRequest) && !errors.Is(err, ErrGone) }

func (id *identification) inquiry(ctx context.Context) error {
	c := scsi.Inquiry{AllocationLength: scsi.InquiryData}
	b, err := id.d.exec(ctx, func(cdb *scsi.CDB) int { return c.Put(cdb) }, uint32(c.AllocationLength))
	if err != nil {
		return unitError(err)
	}
	q, err := scsi.ParseStandardInquiry(b)
	if err != nil {
		return fmt.Errorf("INQUIRY data: %w", err)
	}
	if q.Qualifier != scsi.QualifierConnected {
		return fmt.Errorf("%w (peripheral qualifier %d)", ErrNoUnit, q.Qualifier)
	}
	if q.Device != scsi.DeviceDisk {
		return fmt.Errorf("%w: peripheral device type %02xh, want 00h, a direct access block device", ErrNotDisk, uint8(q.Device))
	}
	id.standard = q
	id.info.Vendor, id.info.Product, id.info.Revision = q.VendorText(), q.ProductText(), q.RevisionText()
	return nil
}

// ready waits until the unit is ready: the retries are those of every command.
func (id *identification) ready(ctx context.Context) error {
	_, err := id.d.exec(ctx, scsi.PutTestUnitReady, 0)
	return unitError(err)
}

// unitError gives the errors of an absent unit their name.
func unitError(err error) error {
	if errors.Is(err, scsi.ErrUnitNotSupported) {
		return fmt.Errorf("%w: %w", ErrNoUnit, err)
	}
	return err
}

// pages reads the vital product data that the unit lists. A unit without a list has none.
func (id *identification) pages(ctx context.Context) error {
	list, err := id.page(ctx, scsi.VPDSupportedPages)
	switch {
	case lacks(err) || errors.Is(err, scsi.ErrFormat) || errors.Is(err, scsi.ErrShort):
		return nil
	case err != nil:
		return err
	}
	var listed []uint8
	for _, p := range vpdPages {
		if list.Lists(p) {
			listed = append(listed, p)
		}
	}
	for _, p := range listed {
		v, err := id.page(ctx, p)
		if err == nil {
			err = id.take(&v)
		}
		// A page that is refused or nonsense is as good as none.
		if err != nil && !lacks(err) && !errors.Is(err, scsi.ErrFormat) && !errors.Is(err, scsi.ErrShort) {
			return err
		}
	}
	if id.info.Identity == "" {
		id.info.Identity, _ = scsi.SerialIdentity(&id.standard, id.info.Serial)
	}
	return nil
}

var vpdPages = [...]uint8{
	scsi.VPDSerialNumber, scsi.VPDIdentification, scsi.VPDBlockLimits, scsi.VPDBlockCharacteristics,
	scsi.VPDProvisioning,
}

// page reads a page, again if it is longer than asked for, or came shorter than it says and was asked for.
func (id *identification) page(ctx context.Context, page uint8) (scsi.VPD, error) {
	most := int(min(controlMemory, id.d.options.MaxTransfer))
	for n, tries := shortAnswer, 1; ; {
		c := scsi.Inquiry{EVPD: true, Page: page, AllocationLength: uint16(n)}
		b, err := id.d.exec(ctx, func(cdb *scsi.CDB) int { return c.Put(cdb) }, uint32(n))
		if err != nil {
			return scsi.VPD{}, err
		}
		v, err := scsi.ParseVPD(b, page)
		switch {
		case tries < shortTries && (errors.Is(err, scsi.ErrShort) || err == nil && len(b) < min(v.Needed(), n)):
			// Half an identity is another one.
			tries++
		case err != nil || v.Needed() <= n || n == most:
			return v, err
		default:
			n = min(v.Needed(), most)
		}
	}
}

func (id *identification) take(v *scsi.VPD) (err error) {
	i := &id.info
	switch v.Page {
	case scsi.VPDSerialNumber:
		i.Serial = v.SerialText()
	case scsi.VPDIdentification:
		i.Identity, _ = scsi.UnitIdentity(v.Body)
	case scsi.VPDBlockLimits:
		id.blockLimits, err = scsi.ParseBlockLimits(v.Body)
		id.hasLimits = err == nil
	case scsi.VPDBlockCharacteristics:
		var c scsi.BlockCharacteristics
		c, err = scsi.ParseBlockCharacteristics(v.Body)
		i.Rotational = err == nil && c.RotationRate != scsi.RotationSolid
		if i.Rotational {
			i.Rotation = c.RotationRate
		}
	case scsi.VPDProvisioning:
		id.provisioning, err = scsi.ParseProvisioning(v.Body)
		id.provisioned = err == nil
	}
	return err
}

// capacity asks READ CAPACITY(10), which every disk has, and (16), which tells more.
func (id *identification) capacity(ctx context.Context) error {
	var c scsi.Capacity
	b, err10 := id.d.exec(ctx, scsi.PutReadCapacity10, scsi.Capacity10Size)
	if err10 == nil {
		c, err10 = scsi.ParseCapacity10(b)
	}
	if err10 != nil && !lacks(err10) {
		return fmt.Errorf("capacity: %w", err10)
	}
	long := scsi.ReadCapacity16{AllocationLength: scsi.Capacity16Size}
	b, err16 := id.d.exec(ctx, func(cdb *scsi.CDB) int { return long.Put(cdb) }, scsi.Capacity16Size)
	if err16 == nil {
		c, err16 = scsi.ParseCapacity16(b)
	}
	switch {
	case err16 == nil:
	case !lacks(err16) || err10 != nil:
		return fmt.Errorf("capacity: %w", err16)
	case c.Truncated():
		return fmt.Errorf("capacity of 2^32 blocks or more: %w", err16)
	}
	id.capacityData = c

	i := &id.info
	blocks, ok := c.Blocks()
	if !ok || c.BlockSize == 0 { // the address before the first one is how a capacity of 0 is told
		return ErrNoCapacity
	}
	if c.BlockSize < minBlock || c.BlockSize > maxBlock || bits.OnesCount32(c.BlockSize) != 1 {
		return fmt.Errorf("%w: %d bytes, want a power of two from %d to %d", ErrBlockSize, c.BlockSize, minBlock, maxBlock)
	}
	if most := id.d.options.MaxTransfer; c.BlockSize > most {
		return fmt.Errorf("%w: %d bytes, and the adapter moves %d a command", ErrBlockSize, c.BlockSize, most)
	}
	size, ok := c.Bytes()
	if !ok {
		return fmt.Errorf("capacity of %d blocks of %d bytes: %w", blocks, c.BlockSize, scsi.ErrRange)
	}
	i.Size, i.LogicalBlock = size, c.BlockSize
	i.PhysicalBlock = uint32(min(uint64(c.BlockSize)<<c.PhysicalExponent, 1<<31))
	i.Alignment = uint32(c.LowestAligned) * c.BlockSize
	i.Thin = c.Provisioned
	return nil
}

// mode reads the caching page for the write cache, and the control page for the software write protection. The
// header of either tells the rest.
func (id *identification) mode(ctx context.Context) error {
	i := &id.info
	h, page, err := id.modePage(ctx, scsi.ModePageCaching)
	switch {
	case lacks(err):
		// Without a caching page the header is still worth having.
		if h, _, err = id.modePage(ctx, scsi.ModePageAll); lacks(err) {
			return nil
		}
	case err == nil:
		if c, err := scsi.ParseCachingPage(page); err == nil {
			i.WriteCache = CacheOff
			if c.WriteCache {
				i.WriteCache = CacheOn
			}
		}
	}
	if err != nil {
		return err
	}
	i.ReadOnly = h.WriteProtected
	if i.FUA = h.DPOFUA; i.FUA {
		id.caps |= canFUA
	}
	_, page, err = id.modePage(ctx, scsi.ModePageControl)
	if err != nil {
		if lacks(err) {
			return nil
		}
		return err
	}
	if c, err := scsi.ParseControlPage(page); err == nil && c.SoftwareProtect {
		i.ReadOnly = true
	}
	return nil
}

// modePage reads a mode page by MODE SENSE(10), or (6) where that is not known. Data that are no mode data count
// as a refusal.
func (id *identification) modePage(ctx context.Context, page uint8) (h scsi.ModeHeader, body []byte, err error) {
	for _, ten := range [...]bool{true, false} {
		c := scsi.ModeSense{Ten: ten, Page: page, AllocationLength: shortAnswer}
		var b, all []byte
		b, err = id.d.exec(ctx, func(cdb *scsi.CDB) int { return c.Put(cdb) }, shortAnswer)
		if err == nil {
			if h, all, err = scsi.ParseModeData(b, ten); err == nil {
				body, _ = scsi.FindModePage(all, page, 0)
				return h, body, nil
			}
			err = fmt.Errorf("mode data: %w: %w", scsi.ErrIllegalRequest, err)
		}
		if !errors.Is(err, scsi.ErrInvalidOpcode) {
			break
		}
	}
	return h, nil, err
}

// commands asks which commands the unit knows, where that decides something. A unit that does not say is tried
// when it comes to it.
func (id *identification) commands(ctx context.Context) error {
	for _, c := range [...]struct {
		op   scsi.Opcode
		sa   uint16 // 0: the operation code has no service actions
		caps caps
	}{
		{scsi.OpSynchronizeCache, 0, canSync10},
		{scsi.OpSyncCache16, 0, canSync16},
		{scsi.OpWriteSame16, 0, canSame16},
		{scsi.OpWriteSame10, 0, canSame10},
		{scsi.OpPreFetch16, 0, canPrefetch},
		{scsi.OpServiceActionIn, scsi.SAGetLBAStatus16, canStatus},
	} {
		r := scsi.ReportSupported{
			Options: scsi.ReportByOpcode, Opcode: c.op, ServiceAction: c.sa, AllocationLength: shortAnswer,
		}
		switch {
		case c.caps == canStatus && !id.info.Thin:
			continue // there are no holes
		case c.sa != 0:
			r.Options = scsi.ReportByAction
		}
		b, err := id.d.exec(ctx, func(cdb *scsi.CDB) int { return r.Put(cdb) }, shortAnswer)
		if err != nil {
			if lacks(err) {
				return nil
			}
			return err
		}
		one, err := scsi.ParseOneCommand(b)
		if err != nil {
			return nil
		}
		switch one.Support {
		case scsi.SupportNone:
			id.caps &^= c.caps
		case scsi.SupportStandard:
			switch {
			case c.caps == canPrefetch: // of which it is of no use to find out by trying
				id.caps |= canPrefetch
			case c.op == scsi.OpWriteSame16 && len(one.Usage) > 1 && one.Usage[1]&1 != 0:
				id.caps |= canNoData
			}
		}
	}
	return nil
}

// limits puts together what the pages say.
func (id *identification) limits() {
	i, l, p := &id.info, &id.blockLimits, &id.provisioning
	block := uint64(i.LogicalBlock)
	i.MaxTransfer = id.d.options.MaxTransfer
	if l.MaxTransfer != 0 {
		i.MaxTransfer = uint32(min(uint64(i.MaxTransfer), uint64(l.MaxTransfer)*block))
	}
	i.MaxTransfer -= i.MaxTransfer % i.LogicalBlock
	i.Granularity = uint32(min(uint64(l.TransferGranularity)*block, 1<<31))
	if optimal := uint64(l.OptimalTransfer) * block; optimal <= uint64(i.MaxTransfer) {
		i.OptimalIO = uint32(optimal)
	}

	i.LBPRZ = id.capacityData.ReadsZeros
	i.MaxUnmapBlocks, i.MaxUnmapDescriptors = l.MaxUnmapBlocks, l.MaxUnmapDescriptors
	i.UnmapGranularity = max(1, l.UnmapGranularity)
	if l.UnmapAligned {
		i.UnmapAlignment = l.UnmapAlignment
	}
	i.MaxWriteSame = l.MaxWriteSame
	byUnmap := l.MaxUnmapBlocks != 0 && l.MaxUnmapDescriptors != 0
	if id.provisioned {
		i.LBPU, i.LBPWS, i.LBPWS10 = p.Unmap, p.UnmapByWriteSame, p.UnmapByWriteSame10
		i.LBPRZ = i.LBPRZ || p.ReadsZeros()
		byUnmap = byUnmap && p.Unmap
	}
	i.Prefetch = id.caps&canPrefetch != 0
	if !i.Thin {
		id.caps &^= canStatus
		return
	}
	i.Extents = id.caps&canStatus != 0
	if byUnmap {
		id.caps |= canUnmap
	}
	// Before the provisioning page there were units with WRITE SAME(16) only.
	if i.LBPWS || !id.provisioned && !byUnmap {
		id.caps |= canUnmapBySame16
	}
	if i.LBPWS10 {
		id.caps |= canUnmapBySame10
	}
	if id.caps&canSame16 == 0 {
		id.caps &^= canUnmapBySame16
	}
	if id.caps&canSame10 == 0 {
		id.caps &^= canUnmapBySame10
	}
	i.Unmap = id.caps&(canUnmap|canUnmapBySame16|canUnmapBySame10) != 0
}
