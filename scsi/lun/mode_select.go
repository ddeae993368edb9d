package lun

import (
	"context"
	"errors"
	"math"
	"math/bits"

	"minisrp/scsi"
)

// modeSelect prepares MODE SELECT of 6 and 10 bytes (SPC-5 6.11). It is alone with the unit's blocks: no write is under
// way when the cache is turned off.
func (s *Server) modeSelect(t *Task) Verdict {
	c, err := scsi.ParseModeSelect(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	m, n := &t.unit.modes, uint32(c.ParameterListLength)
	switch {
	case c.Save && m.keeper == nil:
		return t.badField(1, 0)
	case n == 0:
		return t.end(scsi.StatusGood)
	case !c.PageFormat:
		return t.badField(1, 4)
	case n > MinBuffer:
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
	}
	t.kind, t.exclusive, t.whole = kindModeSelect, true, true
	t.values, t.keep, t.kept = m.current, c.Save, false
	return t.take(n)
}

// workModeSelect finds the new values, writes the cache if it is not to hold anything any more, and saves.
func (u *Unit) workModeSelect(ctx context.Context, t *Task) scsi.Sense {
	v := t.values
	if s := v.change(t.Data[0], t.CDB[0] == byte(scsi.OpModeSelect10), u.facts.Load(), &u.modes.changeable); s.Key != scsi.KeyNoSense {
		return s
	}
	was, is := t.values.meaning(), v.meaning()
	if was.writeCache && !is.writeCache || !was.protected && is.protected {
		if err := u.store.Flush(ctx); err != nil {
			return u.senseOf(err, scsi.ASCWriteError)
		}
	}
	if t.keep {
		if err := u.modes.keeper.Keep(ctx, keptModes, v[:]); err != nil {
			return u.senseOf(err, scsi.ASCWriteError)
		}
		t.kept = true
	}
	t.values = v
	return scsi.Sense{}
}

// selected makes what a MODE SELECT has left the unit's. If it was aborted meanwhile, what was saved is saved.
func (s *Server) selected(t *Task) {
	m := &t.unit.modes
	if t.kept {
		m.saved = t.values
	}
	if t.aborted || t.result.Key != scsi.KeyNoSense || t.values == m.current {
		return
	}
	was := m.means
	m.set(t.values)
	s.caused(t, eventModes)
	if e := &m.means.exceptions; e.Test && (!was.exceptions.Test || was.exceptions.Method != e.Method) {
		t.unit.tellException()
	}
}

// change takes over a mode parameter list. Nothing of it may set a bit that cannot be changed otherwise than it is.
func (v *modeValues) change(list []byte, ten bool, fc *facts, changeable *modeValues) scsi.Sense {
	mediumAt, lengthAt, headerSize := 1, 3, 4
	if ten {
		mediumAt, lengthAt, headerSize = 2, 6, 8
	}
	h, pages, err := scsi.ParseModeList(list, ten)
	at := len(list) - len(pages)
	switch {
	case errors.Is(err, scsi.ErrShort):
		return scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
	case err != nil, at-headerSize > 16, at-headerSize == 16 && !h.LongLBA: // or several descriptors
		return badParameter(lengthAt)
	case h.MediumType != 0:
		return badParameter(mediumAt)
	case h.HasDescriptor && !sameBlocks(&h.Descriptor, fc):
		return badParameter(headerSize)
	}
	for len(pages) > 0 {
		p, rest, ok := scsi.NextModePage(pages)
		if !ok {
			return scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
		}
		is := v.page(p.Page)
		switch {
		case is == nil || p.Subpage != 0:
			return badParameterBit(at, 5)
		case len(p.Body) != len(is)-2:
			return badParameter(at + 1)
		case p.Saveable: // reserved here
			return badParameterBit(at, 7)
		}
		mask := changeable.page(p.Page)
		for i := 2; i < len(is); i++ {
			b := p.Body[i-2]
			if extra := (b ^ is[i]) &^ mask[i]; extra != 0 {
				return badParameterBit(at+i, int8(bits.Len8(extra)-1))
			}
			is[i] = b
		}
		if s := v.judge(); s.Key != scsi.KeyNoSense {
			f, _ := s.FieldPointer()
			for _, k := range modePages {
				if k.code == p.Page {
					return badParameterBit(at+int(f.Byte)-k.at, f.Bit)
				}
			}
		}
		at += len(pages) - len(rest)
		pages = rest
	}
	return scsi.Sense{}
}

// sameBlocks says whether a block descriptor asks for no change: of the number of blocks it may also say none, or as
// many as fit its field.
func sameBlocks(d *scsi.ModeBlockDescriptor, fc *facts) bool {
	return d.BlockSize == fc.info.BlockSize &&
		(d.Blocks == fc.blocks || d.Blocks == 0 || d.Blocks == math.MaxUint32 || d.Blocks == math.MaxUint64)
}
