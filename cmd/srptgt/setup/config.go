package setup

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"minisrp/cmd/bytesize"
	"minisrp/scsi/lun"
	"minisrp/srp/target/access"
	"minisrp/srp/target/fault"
)

// Kind is a kind of store.
type Kind string

// The kinds.
const (
	File Kind = "file"
	RAM  Kind = "ram"
	Null Kind = "null"
)

// Unit is a logical unit to make.
type Unit struct {
	Name      string
	Kind      Kind
	Path      string // of a file
	Size      uint64 // bytes; 0: the file's
	BlockSize uint32 // bytes; 0: 512
	Serial    string // "" means the name
}

// LUN shows a unit to a group.
type LUN struct {
	Group  string // "" means everybody who is in no group
	Number int
	Unit   string
}

// Group is initiators that see the same units.
type Group struct {
	Name       string
	Initiators []access.Match
}

// Config is what a target is made of. Numbers that are 0 mean the target's defaults.
type Config struct {
	Units  []Unit
	LUNs   []LUN // none: every unit to everybody, from LUN 0 on in order
	Groups []Group

	Closed         bool // refuse who is in no group
	StrictChannels bool
	LikeLinux      bool

	Credits              int
	MaxIU                int
	ChannelsPerInitiator int

	Faults []string // as package fault reads them

	Log *slog.Logger // nil logs nothing
}

// Problem is something that is wrong with a Config.
type Problem struct {
	Option string // as on the command line
	Value  string
	Text   string
}

func (p *Problem) Error() string { return fmt.Sprintf("%s %s: %s", p.Option, p.Value, p.Text) }

// Problems are all that is wrong with a Config.
type Problems []*Problem

func (ps Problems) Error() string {
	var lines []string
	for _, p := range ps {
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// ParseUnit reads a unit. Errors: *Problem.
func ParseUnit(text string) (Unit, error) {
	const want = "want NAME=KIND with KIND file:PATH, ram or null, then perhaps size=, block= and serial=, with commas between"
	bad := func(why string) (Unit, error) { return Unit{}, &Problem{"--unit", text, why} }
	name, rest, ok := strings.Cut(text, "=")
	if !ok || !plain(name) {
		return bad(want)
	}
	words := strings.Split(rest, ",")
	kind, path, _ := strings.Cut(words[0], ":")
	u := Unit{Name: name, Kind: Kind(kind), Path: path}
	switch {
	case u.Kind == File && path == "":
		return bad("file wants a path, as in disk0=file:/srv/disk0.img")
	case u.Kind != File && (u.Kind != RAM && u.Kind != Null || path != ""):
		return bad(want)
	}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		var size bytesize.Size
		switch key {
		case "size", "block":
			if err := size.Set(value); err != nil {
				return bad(key + ": " + err.Error())
			}
			if key == "size" {
				u.Size = uint64(size)
			} else if u.BlockSize = uint32(size); uint64(size) > lun.MaxBlockSize {
				return bad(fmt.Sprintf("block: want a power of two from %d to %d", lun.MinBlockSize, lun.MaxBlockSize))
			}
		case "serial":
			u.Serial = value
		default:
			return bad(fmt.Sprintf("%q: want size=, block= or serial=", w))
		}
	}
	if u.Kind != File && u.Size == 0 {
		return bad(kind + " wants a size, as in " + name + "=" + kind + ",size=64M")
	}
	return u, nil
}

// ParseLUN reads what is shown where. Errors: *Problem.
func ParseLUN(text string) (LUN, error) {
	at, unit, ok := strings.Cut(text, "=")
	group, number, grouped := strings.Cut(at, "/")
	if !grouped {
		group, number = "", at
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if !ok || err != nil || n >= lun.MaxUnits || unit == "" || grouped && group == "" {
		return LUN{}, &Problem{"--lun", text, fmt.Sprintf("want N=UNIT or GROUP/N=UNIT, with N of 0 to %d", lun.MaxUnits-1)}
	}
	return LUN{group, int(n), unit}, nil
}

// ParseGroup reads a group. Errors: *Problem.
func ParseGroup(text string) (Group, error) {
	name, rest, ok := strings.Cut(text, "=")
	if !ok || !plain(name) {
		return Group{}, &Problem{"--group", text, "want NAME=WHO, and more WHO with commas between"}
	}
	g := Group{Name: name}
	for who := range strings.SplitSeq(rest, ",") {
		m, err := access.Parse(who)
		if err != nil {
			return Group{}, &Problem{"--group", text, err.Error()}
		}
		g.Initiators = append(g.Initiators, m)
	}
	return g, nil
}

// plain reports whether a name can be written everywhere.
func plain(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// Check returns Problems, or nil when all parts fit together. It opens nothing.
func (c *Config) Check() error {
	var ps Problems
	add := func(option, value, format string, args ...any) {
		ps = append(ps, &Problem{option, value, fmt.Sprintf(format, args...)})
	}
	if len(c.Units) == 0 {
		add("--unit", "", "there is none: a target without units is of no use")
	}
	paths, serials := map[string]string{}, map[string]string{}
	for i, u := range c.Units {
		if slices.ContainsFunc(c.Units[:i], func(o Unit) bool { return o.Name == u.Name }) {
			add("--unit", u.Name, "there are two of this name")
		}
		if other, has := paths[u.Path]; has && u.Path != "" {
			add("--unit", u.Name, "its file is that of %s: a file is one unit's", other)
		}
		if other, has := serials[u.serial()]; has {
			add("--unit", u.Name, "its serial number %q is that of %s: hosts would take them for one unit", u.serial(), other)
		}
		paths[u.Path], serials[u.serial()] = u.Name, u.Name
	}
	for i, g := range c.Groups {
		if slices.ContainsFunc(c.Groups[:i], func(o Group) bool { return o.Name == g.Name }) {
			add("--group", g.Name, "there are two of this name")
		}
	}
	for i, l := range c.LUNs {
		switch {
		case !slices.ContainsFunc(c.Units, func(u Unit) bool { return u.Name == l.Unit }):
			add("--lun", l.String(), "there is no --unit %s", l.Unit)
		case l.Group != "" && !slices.ContainsFunc(c.Groups, func(g Group) bool { return g.Name == l.Group }):
			add("--lun", l.String(), "there is no --group %s", l.Group)
		case slices.ContainsFunc(c.LUNs[:i], func(o LUN) bool { return o.Group == l.Group && o.Number == l.Number }):
			add("--lun", l.String(), "this LUN is taken")
		case l.Group == "" && c.Closed:
			add("--lun", l.String(), "with --closed nobody sees it: name a group")
		}
	}
	if len(c.LUNs) == 0 && len(c.Units) > lun.MaxUnits {
		add("--unit", c.Units[lun.MaxUnits].Name, "there are more than the %d LUNs", lun.MaxUnits)
	}
	if c.Closed && len(c.Groups) == 0 {
		add("--closed", "", "without a --group nobody can log in")
	}
	if _, err := fault.Parse(strings.Join(c.Faults, ";")); err != nil {
		add("--fault", strings.Join(c.Faults, "; "), "%v", err)
	}
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func (l LUN) String() string {
	s := strconv.Itoa(l.Number) + "=" + l.Unit
	if l.Group != "" {
		s = l.Group + "/" + s
	}
	return s
}

func (u *Unit) serial() string {
	if u.Serial == "" {
		return u.Name
	}
	return u.Serial
}

// luns returns what is shown, the default filled in.
func (c *Config) luns() []LUN {
	if len(c.LUNs) > 0 || c.Closed {
		return c.LUNs
	}
	var all []LUN
	for n, u := range c.Units {
		all = append(all, LUN{Number: n, Unit: u.Name})
	}
	return all
}

// Unseen returns the units that no LUN shows.
func (c *Config) Unseen() (names []string) {
	all := c.luns()
	for _, u := range c.Units {
		if !slices.ContainsFunc(all, func(l LUN) bool { return l.Unit == u.Name }) {
			names = append(names, u.Name)
		}
	}
	return names
}

// StoreError says which unit's store cannot be had, and why.
type StoreError struct {
	Unit string
	Err  error
}

func (e *StoreError) Error() string { return "unit " + e.Unit + ": " + e.Err.Error() }
func (e *StoreError) Unwrap() error { return e.Err }
