package embedded

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"minisrp/srp"
)

// ErrFault says that a fault is badly written. The text says what is right.
var ErrFault = errors.New("no such fault")

// Faults is what the target does wrong on purpose, so that users can see what becomes of it. The zero value is nothing.
type Faults struct {
	Reject   srp.RejectReason // every login is refused with it; 0: none is
	Empty    []int            // units, by LUN, with a capacity of 0
	Disabled bool             // the port takes no logins
}

// ParseFaults reads faults: "reject=0x00010003", "capacity=0" (of every unit) or "capacity=0@1" (of the one at LUN 1),
// "disabled". Errors: ErrFault.
func ParseFaults(words []string, units int) (Faults, error) {
	var f Faults
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "reject":
			n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(value), "0x"), 16, 32)
			if err != nil || n == 0 {
				return f, fmt.Errorf("%w: %q: want reject=REASON, a reason of SRP_LOGIN_REJ such as 0x00010003", ErrFault, w)
			}
			f.Reject = srp.RejectReason(n)
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
		default:
			return f, fmt.Errorf("%w: %q: want reject=REASON, capacity=0, capacity=0@LUN or disabled", ErrFault, w)
		}
	}
	return f, nil
}
