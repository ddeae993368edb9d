package srp

import (
	"fmt"
	"strings"
)

// ParseTarget reads a login string as ib_srp's add_target takes it: options of the form name=value, separated by commas
// or newlines, with empty ones skipped. id_ext and ioc_guid must be there, and either dest (with src, if wanted) for the
// RDMA CM, or dgid, pkey and service_id for the IB CM.
//
// Numbers are read as ib_srp reads them: identifiers, pkey and io_class are hexadecimal with or without 0x; the others
// decimal, hexadecimal behind 0x, octal behind 0. Where ib_srp lets through what cannot work or cannot be meant (a value
// that does not fit its field, more channels or commands than a session can have, a number of bytes that no login could
// have, both addresses at once, a dgid of the wrong length, an option given twice) there is an error.
//
// Two options are our own: imm_data (bytes of immediate data to ask for) and protect (io, bounce or region).
//
// Errors: *OptionError, for the first option at fault.
func ParseTarget(s string) (*TargetOptions, error) {
	o := new(TargetOptions)
	seen := make([]bool, len(optionTable))
	values := make([]string, len(optionTable))
	for token := range strings.FieldsFuncSeq(s, isSeparator) {
		name, value, _ := strings.Cut(token, "=")
		i := lookup(name)
		if i < 0 {
			return nil, unknownOption(name, value)
		}
		opt := &optionTable[i]
		if seen[i] {
			return nil, &OptionError{Option: name, Value: value, why: "is given twice", Want: name + " once; it was " + quoted(values[i]) + " before"}
		}
		if value == "" || !opt.parse(o, value) {
			return nil, &OptionError{Option: name, Value: value, Want: opt.want}
		}
		seen[i], values[i] = true, value
	}
	if err := checkTogether(seen, values); err != nil {
		return nil, err
	}
	if o.Src.IsValid() && o.Src.Addr().Is4() != o.Dest.Addr().Is4() {
		return nil, &OptionError{Option: "src", Value: o.srcText(), why: "is not of the same kind as dest",
			Want: "IPv4 with IPv4, or IPv6 with IPv6; dest is " + o.Dest.String()}
	}
	return o, nil
}

func isSeparator(r rune) bool { return r == ',' || r == '\n' }

func lookup(name string) int {
	for i := range optionTable {
		if optionTable[i].name == name {
			return i
		}
	}
	return -1
}

// checkTogether checks that what must be there is, and that there are not two addresses.
func checkTogether(seen []bool, values []string) error {
	var first [forBoth + 1]int // of the options seen for one CM, the index plus 1
	for i := range optionTable {
		if f := &first[optionTable[i].cm]; seen[i] && *f == 0 {
			*f = i + 1
		}
	}
	cm, other := forIB, first[forRDMA]
	if other != 0 {
		cm, other = forRDMA, first[forIB]
	}
	if other != 0 {
		i := first[forRDMA] - 1
		return &OptionError{Option: optionTable[i].name, Value: values[i],
			why:  "cannot stand together with " + optionTable[other-1].name,
			Want: "either dest (and src) for the RDMA CM, or dgid, pkey and service_id for the IB CM"}
	}
	for i := range optionTable {
		opt := &optionTable[i]
		if seen[i] || !opt.mandatory || opt.cm != forBoth && opt.cm != cm {
			continue
		}
		if opt.cm == forIB && first[forIB] == 0 {
			return &OptionError{Option: "dest", why: "is missing",
				Want: "the target's address, as in dest=192.0.2.1:5555, or dgid, pkey and service_id for the IB CM"}
		}
		return &OptionError{Option: opt.name, why: "is missing", Want: fmt.Sprintf("%s=VALUE, %s", opt.name, opt.want)}
	}
	return nil
}
