package scsi

import (
	"fmt"
	"sort"
)

type ascText struct {
	code ASC
	text string
}

// String returns what the code means, in T10's words; "vendor specific" or "unknown additional sense code"
// where none is assigned.
func (a ASC) String() string {
	i := sort.Search(len(ascTexts), func(i int) bool { return ascTexts[i].code >= a })
	if i < len(ascTexts) && ascTexts[i].code == a {
		return ascTexts[i].text
	}
	switch a.Code() {
	case 0x40:
		return fmt.Sprintf("diagnostic failure on component 0x%02x", a.Qualifier())
	case 0x4d:
		return fmt.Sprintf("tagged overlapped commands, task tag 0x%02x", a.Qualifier())
	case 0x70:
		return fmt.Sprintf("decompression exception short algorithm id of 0x%02x", a.Qualifier())
	}
	if a.Code() >= 0x80 || a.Qualifier() >= 0x80 {
		return "vendor specific"
	}
	return "unknown additional sense code"
}

// ascTexts is sorted by code.
var ascTexts = [...]ascText{
	{0x0000, "no additional sense information"},
	{0x0400, "logical unit not ready, cause not reportable"},
	{0x0401, "logical unit is in process of becoming ready"},
	{0x0402, "logical unit not ready, initializing command required"},
	{0x0c00, "write error"},
	{0x1100, "unrecovered read error"},
	{0x1a00, "parameter list length error"},
	{0x1d00, "miscompare during verify operation"},
	{0x2000, "invalid command operation code"},
	{0x2100, "logical block address out of range"},
	{0x2400, "invalid field in CDB"},
	{0x2500, "logical unit not supported"},
	{0x2600, "invalid field in parameter list"},
	{0x2700, "write protected"},
	{0x2707, "space allocation failed write protect"},
	{0x2900, "power on, reset, or bus device reset occurred"},
	{0x3f0e, "reported luns data has changed"},
	{0x4400, "internal target failure"},
	{0x4b00, "data phase error"},
}
