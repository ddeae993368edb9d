package scsi

import "encoding/binary"

// ModePage is one mode page, read in place.
type ModePage struct {
	Saveable bool // PS: the device server can save it
	Page     uint8
	Subpage  uint8  // zero for a page in page_0 format
	Body     []byte // behind the page length field
}

// NextModePage takes the first page off pages, and returns it with the rest. ok is false at the end, or
// when the page there is cut.
func NextModePage(pages []byte) (p ModePage, rest []byte, ok bool) {
	if len(pages) < 2 {
		return p, nil, false
	}
	p.Saveable, p.Page = pages[0]&0x80 != 0, pages[0]&0x3f
	at, n := 2, int(pages[1])
	if pages[0]&0x40 != 0 { // SPF: sub_page format
		if len(pages) < 4 {
			return ModePage{}, nil, false
		}
		p.Subpage = pages[1]
		at, n = 4, int(binary.BigEndian.Uint16(pages[2:4]))
	}
	if at+n > len(pages) {
		return ModePage{}, nil, false
	}
	p.Body = pages[at : at+n]
	return p, pages[at+n:], true
}

// FindModePage returns the body of the page asked for.
func FindModePage(pages []byte, page, subpage uint8) (body []byte, ok bool) {
	for {
		p, rest, more := NextModePage(pages)
		if !more {
			return nil, false
		}
		if p.Page == page && p.Subpage == subpage {
			return p.Body, true
		}
		pages = rest
	}
}

// CachingPage is the caching mode page (SBC-4 6.5.6), as far as a disk with a cache of its own uses it.
type CachingPage struct {
	WriteCache      bool // WCE: a write may end before it is on the medium
	ReadCacheOff    bool // RCD
	Discontinuity   bool // DISC
	ForceSequential bool // FSW: blocks are written in the order of their addresses
	NoReadAhead     bool // DRA
	Saveable        bool // PS
}

const cachingPageLength = 0x12

// Append adds the whole page, 20 bytes, to b.
func (p *CachingPage) Append(b []byte) []byte {
	var d [2 + cachingPageLength]byte
	d[0], d[1] = ModePageCaching|bit(p.Saveable, 7), cachingPageLength
	d[2] = bit(p.Discontinuity, 4) | bit(p.WriteCache, 2) | bit(p.ReadCacheOff, 0)
	d[12] = bit(p.ForceSequential, 7) | bit(p.NoReadAhead, 5)
	return append(b, d[:]...)
}

var (
	errCachingShort = shortError("caching mode page")
	errControlShort = shortError("control mode page")
)

// ParseCachingPage decodes the body of a caching page. Old devices return a short one. Errors: ErrShort
// when even the cache bits are missing.
func ParseCachingPage(body []byte) (p CachingPage, err error) {
	if len(body) < 1 {
		return p, errCachingShort
	}
	p.Discontinuity, p.WriteCache, p.ReadCacheOff = body[0]&0x10 != 0, body[0]&0x04 != 0, body[0]&0x01 != 0
	if len(body) > 10 {
		p.ForceSequential, p.NoReadAhead = body[10]&0x80 != 0, body[10]&0x20 != 0
	}
	return p, nil
}

// ControlPage is the control mode page (SPC-5 7.5.10).
type ControlPage struct {
	TaskSetType         uint8  // TST: 0 one task set for all nexuses, 1 one a nexus
	GlobalLogOff        bool   // GLTSD
	DescriptorSense     bool   // D_SENSE: sense data comes in descriptor format
	QueueAlgorithm      uint8  // QUEUE ALGORITHM MODIFIER: 0 restricted, 1 unrestricted reordering
	QueueErrors         uint8  // QERR: what becomes of other commands after CHECK CONDITION; 0 nothing
	RetainAttention     uint8  // UA_INTLCK_CTRL
	SoftwareProtect     bool   // SWP: write protected by software
	TaskAborted         bool   // TAS: commands ended by another nexus get TASK ABORTED
	ApplicationTagOwner bool   // ATO
	BusyTimeout         uint16 // BUSY TIMEOUT PERIOD in 100 ms; ffffh: no limit
	SelfTestTime        uint16 // EXTENDED SELF-TEST COMPLETION TIME in seconds
	Saveable            bool   // PS
}

const controlPageLength = 0x0a

// Append adds the whole page, 12 bytes, to b.
func (p *ControlPage) Append(b []byte) []byte {
	var d [2 + controlPageLength]byte
	d[0], d[1] = ModePageControl|bit(p.Saveable, 7), controlPageLength
	d[2] = p.TaskSetType&7<<5 | bit(p.DescriptorSense, 2) | bit(p.GlobalLogOff, 1)
	d[3] = p.QueueAlgorithm<<4 | p.QueueErrors&3<<1
	d[4] = p.RetainAttention&3<<4 | bit(p.SoftwareProtect, 3)
	d[5] = bit(p.ApplicationTagOwner, 7) | bit(p.TaskAborted, 6)
	binary.BigEndian.PutUint16(d[8:10], p.BusyTimeout)
	binary.BigEndian.PutUint16(d[10:12], p.SelfTestTime)
	return append(b, d[:]...)
}

// ParseControlPage decodes the body of a control page. Errors: ErrShort below 10 bytes.
func ParseControlPage(body []byte) (p ControlPage, err error) {
	if len(body) < controlPageLength {
		return p, errControlShort
	}
	return ControlPage{
		TaskSetType:         body[0] >> 5,
		DescriptorSense:     body[0]&0x04 != 0,
		GlobalLogOff:        body[0]&0x02 != 0,
		QueueAlgorithm:      body[1] >> 4,
		QueueErrors:         body[1] >> 1 & 3,
		RetainAttention:     body[2] >> 4 & 3,
		SoftwareProtect:     body[2]&0x08 != 0,
		ApplicationTagOwner: body[3]&0x80 != 0,
		TaskAborted:         body[3]&0x40 != 0,
		BusyTimeout:         binary.BigEndian.Uint16(body[6:8]),
		SelfTestTime:        binary.BigEndian.Uint16(body[8:10]),
	}, nil
}
