package scsi

import (
	"fmt"
	"sort"
)

// ascText is one row of T10's list of additional sense codes (SPC-5 annex E).
type ascText struct {
	code ASC
	text string
}

// String returns what the code means, in T10's words; "vendor specific" or "unknown additional sense code"
// where none is assigned.
func (a ASC) String() string {
	table := ascTexts00[:]
	if a >= ascTexts30[0].code {
		table = ascTexts30[:]
	}
	i := sort.Search(len(table), func(i int) bool { return table[i].code >= a })
	if i < len(table) && table[i].code == a {
		return table[i].text
	}
	switch a.Code() {
	case 0x40:
		return fmt.Sprintf("diagnostic failure on component [0x%x]", a.Qualifier())
	case 0x4d:
		return fmt.Sprintf("tagged overlapped commands [0x%x]", a.Qualifier())
	case 0x70:
		return fmt.Sprintf("decompression exception short algorithm id of 0x%x", a.Qualifier())
	}
	if a.Code() >= 0x80 || a.Qualifier() >= 0x80 {
		return "vendor specific"
	}
	return "unknown additional sense code"
}
