package nbdclient

import (
	"fmt"
	"net/url"
	"strings"
)

// Address is where an export is found.
type Address struct {
	Network string // unix or tcp
	Address string
	Export  string
}

// ParseURI reads nbd+unix:///EXPORT?socket=PATH and nbd://HOST[:PORT]/EXPORT.
func ParseURI(s string) (Address, error) {
	u, err := url.Parse(s)
	if err != nil {
		return Address{}, fmt.Errorf("NBD URI %q: %w", s, err)
	}
	a := Address{Export: strings.TrimPrefix(u.Path, "/")}
	switch u.Scheme {
	case "nbd+unix":
		a.Network, a.Address = "unix", u.Query().Get("socket")
		if a.Address == "" {
			return a, fmt.Errorf("NBD URI %q: no socket=PATH in it", s)
		}
	case "nbd":
		a.Network, a.Address = "tcp", u.Host
		if u.Port() == "" {
			a.Address += ":10809"
		}
	default:
		return a, fmt.Errorf("NBD URI %q: want nbd+unix:///EXPORT?socket=PATH or nbd://HOST:PORT/EXPORT", s)
	}
	return a, nil
}
