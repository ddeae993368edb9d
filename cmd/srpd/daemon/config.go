package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"

	"minisrp/cmd/bytesize"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
	"minisrp/cmd/srpd/nbd"
	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// Config says what a daemon is to do.
type Config struct {
	Embedded []Embedded // targets to have in the process

	Targets []Target // none means the embedded ones
	LUNs    []int    // to serve, of all targets; none means all that are found

	Exports    []Export // names beside those that every disk has, and restrictions
	OnlyListed bool     // serve no disk that Exports does not name

	Channels  int    // of a session whose login string does not say, 1 to MaxChannels
	QueueSize int    // commands a channel, likewise, 1 to srp.MaxQueueSize
	Protect   string // likewise: io, bounce or region
	Budget    int    // DPCs that a processor runs before it lets others go on, 1 to MaxBudget

	StateDir string
	Socket   string // NBD
	Control  string
	Group    string // that may use Control: its name or number; "" for none
	TCP      string // NBD: HOST:PORT, or a port alone, which is of the loopback; "" for none
	Metrics  string // for Prometheus, as TCP; "" for none but that on the control socket
	ReadOnly bool
	NBD      NBD
	Capture  string // pcapng file of what crosses the fabric; "" for none

	CaptureSize uint64 // bytes that it has at most, MinCapture or more; 0 for no limit

	Program string // name and build, for the control socket
	Log     *slog.Logger
}

// Embedded is a target in the process.
type Embedded struct {
	Name   string   // 1 to 32 letters, digits, '-', '_' and '.'; DefaultName is the one of the command line
	Units  []Unit   // by LUN, 1 to MaxUnits
	Faults []string // what it does wrong on purpose; see embedded.ParseFaults

	Required bool // the daemon does not start without all of its units, and the login

	faults embedded.Faults
}

// Unit is a unit of an embedded target.
type Unit struct {
	Store    embedded.Kind // one of embedded.Kinds
	Size     uint64        // bytes, a multiple of 512; 0: as it is, or the default of its kind
	Path     string        // of a file; "" means a name of its own in the state directory, to which others are relative
	ReadOnly bool
}

// Target is a target to log in to.
type Target struct {
	Login     string // login string; what it says wins
	Channels  int    // 0 means Config's
	QueueSize int    // likewise
	LUNs      []int  // to serve; none means all
	Required  bool   // the daemon does not start unless it is logged in
}

// Export is a disk that is served under a name of the user's choice.
type Export struct {
	Unit     string   // its identity, or the name that it has: disk0 and so on
	Name     string   // "" means no more than those it has
	ReadOnly bool     // under all of its names
	Allow    []string // rules, in the place of NBD's, for all of its names

	access nbd.Access
}

// DefaultName is the name of the embedded target whose identity is the daemon's own.
const DefaultName = "embedded"

// Defaults returns the configuration of a daemon of which nothing was said.
func Defaults() Config {
	return Config{
		Channels: 1, QueueSize: srp.DefaultQueueSize, Protect: "io", Budget: dispatch.DefaultItems, CaptureSize: 1 << 30,
		NBD: NBD{PollTime: nbd.DefaultPollTime},
	}
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
		{"--channels", c.Channels, 1, MaxChannels},
		{"--queue-size", c.QueueSize, 1, srp.MaxQueueSize},
		{"--dpc-budget", c.Budget, 1, MaxBudget},
	} {
		if n.value < n.least || n.value > n.most {
			return usage("%s is %d, want %d to %d", n.option, n.value, n.least, n.most)
		}
	}
	if c.Group != "" {
		if _, err := GroupID(c.Group); err != nil {
			return usage("--control-group is %q: %w", c.Group, err)
		}
	}
	switch {
	case len(c.Embedded) > MaxEmbedded:
		return usage("%d embedded targets, want %d at most", len(c.Embedded), MaxEmbedded)
	case c.StateDir == "" || c.Socket == "" || c.Control == "":
		return usage("--state-dir, --socket and --control may not be empty")
	case c.CaptureSize > 0 && c.CaptureSize < MinCapture:
		return usage("--capture-size is %s, want %s or more", bytesize.Format(c.CaptureSize), bytesize.Format(MinCapture))
	case c.Socket == c.Control:
		return usage("--socket and --control are both %s, want two paths", c.Socket)
	}
	for i := range c.Embedded {
		if err := c.Embedded[i].settle(c.StateDir); err != nil {
			return err
		}
	}
	for _, n := range c.LUNs {
		if n < 0 || n > MaxLUN {
			return usage("--lun is %d, want 0 to %d", n, MaxLUN)
		}
	}
	if err := c.NBD.settle(); err != nil {
		return err
	}
	for i := range c.Exports {
		var err error
		if c.Exports[i].access, err = nbd.ParseAccess(c.Exports[i].Allow); err != nil {
			return usage("export of %s: %w", c.Exports[i].Unit, err)
		}
	}
	var err error
	if c.TCP, err = Loopback(c.TCP); err != nil {
		return usage("--tcp %w", err)
	}
	if c.Metrics, err = Loopback(c.Metrics); err != nil {
		return usage("--metrics %w", err)
	}
	return nil
}

// settle checks an embedded target, and gives its files their paths.
func (e *Embedded) settle(dir string) error {
	if len(e.Units) < 1 || len(e.Units) > MaxUnits {
		return usage("--luns is %d, want 1 to %d", len(e.Units), MaxUnits)
	}
	var err error
	if e.faults, err = embedded.ParseFaults(e.Faults, len(e.Units)); err != nil {
		return usage("--embedded-fault: %w", err)
	}
	for n := range e.Units {
		u := &e.Units[n]
		switch {
		case !slices.Contains(embedded.Kinds, u.Store):
			return usage("--store is %q, want file, badger, ram or null", u.Store)
		case u.Size%512 != 0:
			return usage("--size is %d bytes, want a multiple of 512", u.Size)
		case u.Path == "":
			u.Path = ImageName(e.Name, n)
		}
		path := u.Path
		if u.Path, err = ImagePath(dir, path); err != nil {
			return usage("embedded target %s, LUN %d: its path is %q: %w", e.Name, n, path, err)
		}
	}
	return nil
}

// Loopback gives an address that is a port alone the loopback as its host.
func Loopback(address string) (string, error) {
	if address == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(address)
	if _, perr := strconv.ParseUint(address, 10, 16); perr == nil {
		host, port, err = "", address, nil
	}
	if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil {
		return "", fmt.Errorf("is %q, want a port, which is of 127.0.0.1, or HOST:PORT", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// usage is an error of the command line.
func usage(format string, args ...any) error { return exitcode.Errorf(exitcode.Usage, format, args...) }
