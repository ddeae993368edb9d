package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
	"minisrp/srp"
)

// Config says what a daemon is to do.
type Config struct {
	Embedded bool          // have a target in the process
	Units    int           // of the embedded target, 1 to MaxUnits
	Store    embedded.Kind // one of embedded.Kinds
	Size     uint64        // of each embedded unit, bytes; 0: as it is, or the default of its kind
	Faults   []string      // see embedded.ParseFaults

	Targets []string // login strings; none with Embedded means the embedded target
	LUNs    []int    // to serve; none means all that are found

	Channels  int    // of a session whose login string does not say, 1 to MaxChannels
	QueueSize int    // commands a channel, likewise, 1 to srp.MaxQueueSize
	Protect   string // likewise: io, bounce or region

	StateDir string
	Socket   string // NBD
	Control  string
	TCP      string // NBD: HOST:PORT, or a port alone, which is of the loopback; "" for none
	ReadOnly bool
	Capture  string // pcapng file of what crosses the fabric; "" for none

	Program string // name and build, for the control socket
	Log     *slog.Logger
}

// settle refuses what is wrong in a way that the user can see, and fills in the rest.
func (c *Config) settle() error {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	for _, n := range []struct {
		option       string
		value, least int
		most         int
	}{
		{"--luns", c.Units, 1, MaxUnits},
		{"--channels", c.Channels, 1, MaxChannels},
		{"--queue-size", c.QueueSize, 1, srp.MaxQueueSize},
	} {
		if n.value < n.least || n.value > n.most {
			return usage("%s is %d, want %d to %d", n.option, n.value, n.least, n.most)
		}
	}
	switch {
	case !c.Embedded && len(c.Targets) == 0:
		return &exitcode.Error{Code: exitcode.Usage, Err: fmt.Errorf("nothing to serve: neither --embedded nor --target is given"),
			Advice: "try: srpd run --embedded"}
	case !slices.Contains(embedded.Kinds, c.Store):
		return usage("--store is %q, want one of %v", c.Store, embedded.Kinds)
	case c.Size%512 != 0:
		return usage("--size is %d bytes, want a multiple of 512", c.Size)
	case c.StateDir == "" || c.Socket == "" || c.Control == "":
		return usage("--state-dir, --socket and --control may not be empty")
	case c.Socket == c.Control:
		return usage("--socket and --control are both %s, want two paths", c.Socket)
	}
	for _, n := range c.LUNs {
		if n < 0 || n > 0x3fff {
			return usage("--lun is %d, want 0 to %d", n, 0x3fff)
		}
	}
	var err error
	c.TCP, err = loopback(c.TCP)
	return err
}

// loopback gives an address that is a port alone the loopback as its host.
func loopback(address string) (string, error) {
	if address == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(address)
	if _, perr := strconv.ParseUint(address, 10, 16); perr == nil {
		host, port, err = "", address, nil
	}
	if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil {
		return "", usage("--tcp is %q, want a port, which is of 127.0.0.1, or HOST:PORT", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// usage is an error of the command line.
func usage(format string, args ...any) error { return exitcode.Errorf(exitcode.Usage, format, args...) }
