package lun

import (
	"context"
	"fmt"

	"minisrp/scsi"
)

// modeValues is the mode pages of a unit, whole, in the order of their codes.
type modeValues [12 + 20 + 12 + 12]byte

// modePages says where each page is.
var modePages = [...]struct {
	code     uint8
	at, size int
}{
	{scsi.ModePageRecovery, recoveryAt, 12},
	{scsi.ModePageCaching, cachingAt, 20},
	{scsi.ModePageControl, controlAt, 12},
	{scsi.ModePageExceptions, exceptionsAt, 12},
}

const (
	recoveryAt   = 0
	cachingAt    = recoveryAt + 12
	controlAt    = cachingAt + 20
	exceptionsAt = controlAt + 12
)

// modes is what MODE SENSE shows and MODE SELECT changes (SPC-5 7.5). There is one for all nexuses.
type modes struct {
	// Fixed after construction.
	defaults   modeValues
	changeable modeValues // a 1 for each bit that may be changed
	keeper     Keeper     // nil: no values can be saved

	// Processor.
	saved   modeValues
	current modeValues
	means   meaning
}

// meaning is what the values say, as far as the unit acts on it.
type meaning struct {
	writeCache  bool // WCE: a write may be GOOD before it lasts
	descriptors bool // D_SENSE
	protected   bool // SWP
	abortedTold bool // TAS: tasks that another nexus aborts end with TASK ABORTED, otherwise without a word
	exceptions  scsi.ExceptionsPage
}

// keptModes is the name under which a store keeps saved values.
const keptModes = "mode"

// init makes the values that a unit begins with: the saved ones, or the defaults. Errors: ErrKept, the store's.
func (m *modes) init(store Store, info Info) error {
	m.keeper, _ = find[Keeper](store)
	saves := m.keeper != nil
	_, space := find[Metered](store)
	recovery := scsi.RecoveryPage{Saveable: saves, SpaceThreshold: space}
	caching := scsi.CachingPage{Saveable: saves, WriteCache: info.Volatile}
	control := scsi.ControlPage{Saveable: saves, QueueAlgorithm: 1, TaskAborted: true, GlobalLogOff: true}
	exceptions := scsi.ExceptionsPage{Saveable: saves, Log: true, Method: scsi.ExceptionsOnRequest, Count: 1}
	m.defaults = valuesOf(&recovery, &caching, &control, &exceptions)
	m.changeable = valuesOf(&scsi.RecoveryPage{Saveable: saves},
		&scsi.CachingPage{Saveable: saves, WriteCache: info.Volatile},
		&scsi.ControlPage{Saveable: saves, DescriptorSense: true, SoftwareProtect: true, TaskAborted: true},
		&scsi.ExceptionsPage{Saveable: saves, Off: true, Test: true, Method: 0x0f})
	m.saved = m.defaults
	if saves {
		b, err := m.keeper.Kept(context.Background(), keptModes)
		if err != nil {
			return err
		}
		if err := m.saved.restore(b, &m.changeable); err != nil {
			return err
		}
	}
	m.set(m.saved)
	return nil
}

func valuesOf(r *scsi.RecoveryPage, c *scsi.CachingPage, k *scsi.ControlPage, e *scsi.ExceptionsPage) (v modeValues) {
	if len(e.Append(k.Append(c.Append(r.Append(v[:0]))))) != len(v) {
		panic("lun: the mode pages are not where they should be")
	}
	return v
}

// restore takes over, of pages that were kept, the bits that can be changed. Errors: ErrKept.
func (v *modeValues) restore(kept []byte, changeable *modeValues) error {
	for len(kept) > 0 {
		p, rest, ok := scsi.NextModePage(kept)
		if !ok {
			return fmt.Errorf("mode pages that were saved: cut at the last %d bytes: %w", len(kept), ErrKept)
		}
		for _, k := range modePages {
			if p.Page != k.code || p.Subpage != 0 || len(p.Body) != k.size-2 {
				continue
			}
			for i := 2; i < k.size; i++ {
				mask := changeable[k.at+i]
				v[k.at+i] = v[k.at+i]&^mask | p.Body[i-2]&mask
			}
		}
		kept = rest
	}
	if s := v.judge(); s.Key != scsi.KeyNoSense {
		return fmt.Errorf("mode pages that were saved: values that contradict one another: %w", ErrKept)
	}
	return nil
}

// set makes values the current ones.
func (m *modes) set(v modeValues) {
	m.current = v
	m.means = v.meaning()
}

func (v *modeValues) meaning() (w meaning) {
	// The pages have their length, which is all that can be wrong with them.
	caching, _ := scsi.ParseCachingPage(v[cachingAt+2 : controlAt])
	control, _ := scsi.ParseControlPage(v[controlAt+2 : exceptionsAt])
	w.exceptions, _ = scsi.ParseExceptionsPage(v[exceptionsAt+2:])
	w.writeCache, w.descriptors = caching.WriteCache, control.DescriptorSense
	w.protected, w.abortedTold = control.SoftwareProtect, control.TaskAborted
	return w
}

// judge holds the values against one another, and returns sense data that point at what is wrong, as an offset in v.
func (v *modeValues) judge() scsi.Sense {
	w := v.meaning()
	switch w.exceptions.Method {
	case scsi.ExceptionsNotTold, scsi.ExceptionsAttention, scsi.ExceptionsOnRequest:
	default:
		return badParameterBit(exceptionsAt+3, 3)
	}
	if w.exceptions.Test && w.exceptions.Off {
		return badParameterBit(exceptionsAt+2, 2)
	}
	return scsi.Sense{}
}

// reset makes the saved values the current ones. It does not turn the write cache off: what that holds would have to
// be written first.
func (m *modes) reset() {
	v := m.saved
	if m.means.writeCache {
		v[cachingAt+2] |= m.current[cachingAt+2] & m.changeable[cachingAt+2]
	}
	m.set(v)
}

// modeSense prepares MODE SENSE of 6 and 10 bytes (SPC-5 6.13).
func (s *Server) modeSense(t *Task) Verdict {
	c, err := scsi.ParseModeSense(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	m, fc := &t.unit.modes, t.unit.facts.Load()
	values := &m.current
	switch {
	case c.Control == scsi.PageSaved && m.keeper == nil:
		return t.fail(scsi.KeyIllegalRequest, ascSavingParameters)
	case c.Control == scsi.PageSaved:
		values = &m.saved
	case c.Control == scsi.PageChangeable:
		values = &m.changeable
	case c.Control == scsi.PageDefault:
		values = &m.defaults
	}
	pages := values[:]
	switch {
	case c.Subpage != 0 && c.Subpage != scsi.ModeSubpageAll:
		return t.badField(3, -1)
	case c.Page == 0: // the header alone
		pages = nil
	case c.Page != scsi.ModePageAll:
		if pages = values.page(c.Page); pages == nil {
			return t.badField(2, 5)
		}
	}
	h := scsi.ModeHeader{
		WriteProtected: t.unit.cfg.ReadOnly || m.means.protected, DPOFUA: true, HasDescriptor: !c.DBD, LongLBA: c.LLBAA && !c.DBD,
		Descriptor: scsi.ModeBlockDescriptor{Blocks: fc.blocks, BlockSize: fc.info.BlockSize},
	}
	return t.answer(h.AppendModeData(t.small[:0], c.Ten, pages), uint32(c.AllocationLength))
}

// page returns a whole page, or nil.
func (v *modeValues) page(code uint8) []byte {
	for _, k := range modePages {
		if k.code == code {
			return v[k.at : k.at+k.size]
		}
	}
	return nil
}

// ascSavingParameters is SAVING PARAMETERS NOT SUPPORTED.
const ascSavingParameters scsi.ASC = 0x3900
