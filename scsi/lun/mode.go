package lun

import "minisrp/scsi"

// Indices of modeAnswers.
const (
	modeCaching = iota
	modeControl
	modeAll
	numModePages
)
const (
	descriptorNone = iota
	descriptorShort
	descriptorLong
	numDescriptors
)

// modes makes all that MODE SENSE can answer.
func (fc *facts) modes(cfg *Config) {
	caching := scsi.CachingPage{WriteCache: fc.info.Volatile}
	control := scsi.ControlPage{QueueAlgorithm: 1, TaskAborted: true}
	pages := [numModePages][]byte{modeCaching: caching.Append(nil), modeControl: control.Append(nil)}
	var unchangeable [numModePages][]byte // no bit of them can be changed
	for i, p := range pages[:modeAll] {
		unchangeable[i] = append(append([]byte(nil), p[:2]...), make([]byte, len(p)-2)...)
	}
	for size := range fc.mode {
		for values, set := range [...][numModePages][]byte{pages, unchangeable} {
			set[modeAll] = append(append([]byte(nil), set[modeCaching]...), set[modeControl]...)
			for page := range set {
				for d := range numDescriptors {
					h := scsi.ModeHeader{
						WriteProtected: cfg.ReadOnly, DPOFUA: true,
						HasDescriptor: d != descriptorNone, LongLBA: d == descriptorLong,
						Descriptor: scsi.ModeBlockDescriptor{Blocks: fc.blocks, BlockSize: fc.info.BlockSize},
					}
					fc.mode[size][values][page][d] = h.AppendModeData(nil, size == 1, set[page])
				}
			}
		}
	}
}

// modeSense prepares MODE SENSE of 6 and 10 bytes (SPC-5 6.13).
func (s *Server) modeSense(t *Task) Verdict {
	c, err := scsi.ParseModeSense(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	size, values, descriptor := 0, 0, descriptorNone
	if c.Ten {
		size = 1
	}
	if !c.DBD {
		descriptor = descriptorShort
		if c.LLBAA {
			descriptor = descriptorLong
		}
	}
	switch c.Control {
	case scsi.PageSaved:
		return t.fail(scsi.KeyIllegalRequest, ascSavingParameters)
	case scsi.PageChangeable:
		values = 1
	}
	answers := &t.unit.facts.Load().mode[size][values]
	switch {
	case c.Page == scsi.ModePageAll && (c.Subpage == 0 || c.Subpage == scsi.ModeSubpageAll):
		return t.answer(answers[modeAll][descriptor], uint32(c.AllocationLength))
	case c.Subpage != 0:
		return t.badField(3, -1)
	case c.Page == scsi.ModePageCaching:
		return t.answer(answers[modeCaching][descriptor], uint32(c.AllocationLength))
	case c.Page == scsi.ModePageControl:
		return t.answer(answers[modeControl][descriptor], uint32(c.AllocationLength))
	}
	return t.badField(2, 5)
}

// ascSavingParameters is SAVING PARAMETERS NOT SUPPORTED.
const ascSavingParameters scsi.ASC = 0x3900
