package decode

import (
	"errors"
	"fmt"
	"strings"

	"minisrp/scsi"
)

// errCut tells that the unit had more to say than there was room for.
var errCut = errors.New("the answer is longer than it may be, and cut")

// Keys decodes READ KEYS data.
func Keys(b []byte) ([]Fact, error) {
	f, body, err := header(b)
	if err != nil {
		return nil, err
	}
	scsi.ParseKeys(body, func(key uint64) bool {
		f.add("Key", "0x%x", key)
		return true
	})
	return f, nil
}

// header decodes what all but the capabilities begin with.
func header(b []byte) (f facts, body []byte, err error) {
	generation, body, whole, err := scsi.ParseReserveHeader(b)
	if err == nil && !whole {
		err = errCut
	}
	f.add("PR generation", "0x%x", generation)
	return f, body, err
}

// Reservation decodes READ RESERVATION data.
func Reservation(b []byte) ([]Fact, error) {
	f, body, err := header(b)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		f.add("Reservation", "none")
		return f, nil
	}
	r, err := scsi.ParseReservation(body)
	if err != nil {
		return nil, err
	}
	f.add("Key", "0x%x", r.Key)
	f.held(r.Scope, r.Type)
	return f, nil
}

func (f *facts) held(scope uint8, t scsi.ReservationType) {
	f.add("Scope", "%s", named(map[uint8]string{0: "logical unit"}, scope, "%d"))
	f.add("Type", "%d (%s)", uint8(t), t)
}

// FullStatus decodes READ FULL STATUS data.
func FullStatus(b []byte) ([]Fact, error) {
	f, body, err := header(b)
	if err != nil {
		return nil, err
	}
	for len(body) > 0 {
		var s scsi.FullStatus
		if s, body, err = scsi.NextFullStatus(body); err != nil {
			return nil, err
		}
		f.add("Initiator port", "0x%x", s.Initiator[:])
		f.add("Key", "0x%x", s.Key)
		if s.AllPorts {
			f.add("Relative port", "all")
		} else {
			f.add("Relative port", "0x%x", s.Relative)
		}
		f.bit("Holder", s.Holder)
		if s.Holder {
			f.held(s.Scope, s.Type)
		}
	}
	return f, nil
}

// Capabilities decodes REPORT CAPABILITIES data.
func Capabilities(b []byte) ([]Fact, error) {
	c, err := scsi.ParseReserveCapabilities(b)
	if err != nil {
		return nil, err
	}
	var f facts
	f.bit("Replace Lost Reservation Capable (RLR_C)", c.ReplaceLost)
	f.bit("Compatible Reservation Handling (CRH)", c.Compatible)
	f.bit("Specify Initiator Ports Capable (SIP_C)", c.Specified)
	f.bit("All Target Ports Capable (ATP_C)", c.AllPorts)
	f.bit("Persist Through Power Loss Capable (PTPL_C)", c.PersistCan)
	f.bit("Persist Through Power Loss Activated (PTPL_A)", c.PersistIs)
	f.add("Allow Commands", "%d", c.AllowCommands)
	f.bit("Type Mask Valid (TMV)", c.Types != 0)
	for t := range scsi.ReservationType(16) {
		if c.Types&(1<<t) != 0 && t.Valid() {
			f.add("Type", "%d (%s)", uint8(t), t)
		}
	}
	return f, nil
}

// types are the words for types of reservations that commands take, long and short.
var types = []struct {
	long, short string
	t           scsi.ReservationType
}{
	{"write-exclusive", "we", scsi.WriteExclusive},
	{"exclusive-access", "ea", scsi.ExclusiveAccess},
	{"write-exclusive-registrants-only", "wero", scsi.WriteExclusiveRegistrantsOnly},
	{"exclusive-access-registrants-only", "earo", scsi.ExclusiveAccessRegistrantsOnly},
	{"write-exclusive-all-registrants", "wear", scsi.WriteExclusiveAllRegistrants},
	{"exclusive-access-all-registrants", "eaar", scsi.ExclusiveAccessAllRegistrants},
}

// ParseType reads a type of reservation: its name as sg_persist prints it, in any case, with blanks, commas or hyphens;
// the letters that begin its words; or its number, 1, 3, 5, 6, 7 or 8.
func ParseType(s string) (scsi.ReservationType, error) {
	plain := strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune(" ,-_", r) }), "-")
	var all []string
	for _, x := range types {
		if plain == x.long || plain == x.short || plain == fmt.Sprint(uint8(x.t)) {
			return x.t, nil
		}
		all = append(all, fmt.Sprintf("%s (%s, %d)", x.long, x.short, uint8(x.t)))
	}
	return 0, fmt.Errorf("type %.40q: want one of %s", s, strings.Join(all, ", "))
}
