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
	errExceptShort  = shortError("informational exceptions control mode page")
	errRecoverShort = shortError("read-write error recovery mode page")
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

// Values of MRIE in the informational exceptions control page: how they are told (SBC-4 6.5.8).
const (
	ExceptionsNotTold     uint8 = 0x0
	ExceptionsAttention   uint8 = 0x2 // by a unit attention
	ExceptionsRecoveredIf uint8 = 0x3 // by RECOVERED ERROR of the next command, where those are told
	ExceptionsRecovered   uint8 = 0x4 // by RECOVERED ERROR of the next command
	ExceptionsNoSense     uint8 = 0x5 // by NO SENSE of the next command
	ExceptionsOnRequest   uint8 = 0x6 // by REQUEST SENSE
)

// ExceptionsPage is the informational exceptions control mode page (SBC-4 6.5.8).
type ExceptionsPage struct {
	Performance bool   // PERF: no checks that delay commands
	Background  bool   // EBF: background functions are enabled
	Warnings    bool   // EWASC: warnings are told
	Off         bool   // DEXCPT: failure predictions are not told
	Test        bool   // TEST: a failure is predicted that is none; not with Off
	BackErrors  bool   // EBACKERR: errors of background functions are told
	Log         bool   // LOGERR: exceptions go to the log page
	Method      uint8  // MRIE: one of ExceptionsNotTold, …
	Interval    uint32 // INTERVAL TIMER between reports, in 100 ms; 0 and ffffffffh: the vendor's own
	Count       uint32 // REPORT COUNT: how often one is told; 0: without limit
	Saveable    bool   // PS
}

const exceptionsPageLength = 0x0a

// Append adds the whole page, 12 bytes, to b.
func (p *ExceptionsPage) Append(b []byte) []byte {
	var d [2 + exceptionsPageLength]byte
	d[0], d[1] = ModePageExceptions|bit(p.Saveable, 7), exceptionsPageLength
	d[2] = bit(p.Performance, 7) | bit(p.Background, 5) | bit(p.Warnings, 4) | bit(p.Off, 3) | bit(p.Test, 2) |
		bit(p.BackErrors, 1) | bit(p.Log, 0)
	d[3] = p.Method & 0x0f
	binary.BigEndian.PutUint32(d[4:8], p.Interval)
	binary.BigEndian.PutUint32(d[8:12], p.Count)
	return append(b, d[:]...)
}

// ParseExceptionsPage decodes the body of an informational exceptions control page. Errors: ErrShort below 10 bytes.
func ParseExceptionsPage(body []byte) (p ExceptionsPage, err error) {
	if len(body) < exceptionsPageLength {
		return p, errExceptShort
	}
	return ExceptionsPage{
		Performance: body[0]&0x80 != 0, Background: body[0]&0x20 != 0, Warnings: body[0]&0x10 != 0, Off: body[0]&0x08 != 0,
		Test: body[0]&0x04 != 0, BackErrors: body[0]&0x02 != 0, Log: body[0]&0x01 != 0, Method: body[1] & 0x0f,
		Interval: binary.BigEndian.Uint32(body[2:6]), Count: binary.BigEndian.Uint32(body[6:10]),
	}, nil
}

// RecoveryPage is the read-write error recovery mode page (SBC-4 6.5.10), as far as a disk without a medium of its own
// uses it.
type RecoveryPage struct {
	WriteReassign  bool   // AWRE
	ReadReassign   bool   // ARRE
	PostErrors     bool   // PER: recovered errors are told
	ReadRetries    uint8  // READ RETRY COUNT
	WriteRetries   uint8  // WRITE RETRY COUNT
	SpaceThreshold bool   // LBPERE: thin provisioning thresholds are told
	TimeLimit      uint16 // RECOVERY TIME LIMIT in ms; 0: the vendor's own
	Saveable       bool   // PS
}

const recoveryPageLength = 0x0a

// Append adds the whole page, 12 bytes, to b.
func (p *RecoveryPage) Append(b []byte) []byte {
	return append(b, ModePageRecovery|bit(p.Saveable, 7), recoveryPageLength,
		bit(p.WriteReassign, 7)|bit(p.ReadReassign, 6)|bit(p.PostErrors, 2), p.ReadRetries, 0, 0, 0,
		bit(p.SpaceThreshold, 7), p.WriteRetries, 0, byte(p.TimeLimit>>8), byte(p.TimeLimit))
}

// ParseRecoveryPage decodes the body of a read-write error recovery page. Errors: ErrShort below 10 bytes.
func ParseRecoveryPage(body []byte) (p RecoveryPage, err error) {
	if len(body) < recoveryPageLength {
		return p, errRecoverShort
	}
	return RecoveryPage{
		WriteReassign: body[0]&0x80 != 0, ReadReassign: body[0]&0x40 != 0, PostErrors: body[0]&0x04 != 0,
		ReadRetries: body[1], SpaceThreshold: body[5]&0x80 != 0, WriteRetries: body[6],
		TimeLimit: binary.BigEndian.Uint16(body[8:10]),
	}, nil
}
