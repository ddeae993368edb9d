package embedded

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"minisrp/srp/target/fault"
)

// ErrFault says that a fault is badly written. The text says what is right.
var ErrFault = errors.New("no such fault")

// Faults is what the target does wrong on purpose, so that users can see what becomes of it. The zero value is nothing.
type Faults struct {
	Rules    string // of logins and requests, as package fault reads them
	Empty    []int  // units, by LUN, with a capacity of 0
	Disabled bool   // the port takes no logins
}

// ParseFaults reads faults: "capacity=0" (of every unit) or "capacity=0@1" (of the one at LUN 1), "disabled", and those
// of package fault, such as "reject=0x00010003" and "delay=50ms,op=read". Errors: ErrFault.
func ParseFaults(words []string, units int) (Faults, error) {
	var f Faults
	var rules []string
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "capacity":
			size, at, one := strings.Cut(value, "@")
			n, err := strconv.Atoi(at)
			if size != "0" || one && (err != nil || n < 0 || n >= units) {
				return f, fmt.Errorf("%w: %q: want capacity=0 or capacity=0@LUN with a LUN of 0 to %d", ErrFault, w, units-1)
			}
			if one {
				f.Empty = append(f.Empty, n)
				continue
			}
			for i := range units {
				f.Empty = append(f.Empty, i)
			}
		case "disabled":
			f.Disabled = true
		case "":
			return f, fmt.Errorf("%w: %q: want reject=REASON, delay=TIME or another, capacity=0, capacity=0@LUN or disabled", ErrFault, w)
		default:
			rules = append(rules, w)
		}
	}
	rs, err := fault.Parse(strings.Join(rules, ";"))
	if err != nil {
		return f, fmt.Errorf("%w: %w; or capacity=0, capacity=0@LUN, disabled", ErrFault, err)
	}
	f.Rules = rs.String()
	return f, nil
}
