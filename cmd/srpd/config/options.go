package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"minisrp/cmd/bytesize"
	"minisrp/cmd/srpd/daemon"
	"minisrp/cmd/srpd/embedded"
	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/socket"
	"minisrp/srp"
)

// options is the table of all options.
func (r *reader) options() []field {
	c := &r.s.Daemon
	return []field{
		{"state-dir", r.text(&c.StateDir, absolute)},
		{"capture", r.text(&c.Capture, absolute)},
		{"capture-size", r.size(&c.CaptureSize)},
		{"nbd", r.table([]field{
			{"socket", r.text(&c.Socket, socketPath)},
			{"tcp", r.text(&c.TCP, address)},
			{"read-only", r.flag(&c.ReadOnly)},
			{"only-listed", r.flag(&c.OnlyListed)},
			{"tls", word(r, &c.NBD.TLS, "off", "on", "require")},
			{"tls-certificates", r.text(&c.NBD.Certificates, absolute)},
			{"tls-psk", r.text(&c.NBD.Keys, absolute)},
			{"tls-verify-peer", r.flag(&c.NBD.VerifyPeer)},
			{"allow", r.texts(&c.NBD.Allow, accessRule)},
			{"max-connections", r.number(&c.NBD.MaxConns, 1, daemon.MaxConnections)},
			{"max-client-connections", r.number(&c.NBD.MaxClientConns, 1, daemon.MaxConnections)},
			{"memory", r.size(&c.NBD.Memory)},
			{"client-memory", r.size(&c.NBD.ClientMemory)},
			{"poll-time", r.duration(&c.NBD.PollTime)},
			{"idle-timeout", r.duration(&c.NBD.IdleTimeout)},
		})},
		{"control", r.table([]field{
			{"socket", r.text(&c.Control, socketPath)},
			{"group", r.text(&c.Group, group)},
		})},
		{"metrics", r.table([]field{
			{"listen", r.text(&c.Metrics, address)},
		})},
		{"log", r.table([]field{
			{"level", r.text(&r.s.LogLevel, level)},
			{"format", word(r, &r.s.LogFormat, "text", "json")},
		})},
		{"session", r.table([]field{
			{"channels", r.number(&c.Channels, 1, daemon.MaxChannels)},
			{"queue-size", r.number(&c.QueueSize, 1, srp.MaxQueueSize)},
			{"protect", word(r, &c.Protect, "io", "bounce", "region")},
		})},
		{"dpc-budget", r.number(&c.Budget, 1, daemon.MaxBudget)},
		{"embedded", r.list(r.embedded)},
		{"target", r.list(r.target)},
		{"export", r.list(r.export)},
	}
}

func (r *reader) embedded(string) ([]field, string) {
	all := &r.s.Daemon.Embedded
	*all = append(*all, daemon.Embedded{Name: daemon.DefaultName})
	e := &(*all)[len(*all)-1]
	return []field{
		{"name", r.text(&e.Name, targetName)},
		{"required", r.flag(&e.Required)},
		{"faults", r.texts(&e.Faults, faultRule)},
		{"unit", r.list(func(string) ([]field, string) {
			e.Units = append(e.Units, daemon.Unit{Store: embedded.File})
			u := &e.Units[len(e.Units)-1]
			return []field{
				{"store", word(r, &u.Store, embedded.Kinds...)},
				{"size", r.size(&u.Size)},
				{"path", r.text(&u.Path, notEmpty)},
				{"read-only", r.flag(&u.ReadOnly)},
			}, ""
		})},
	}, "unit"
}

func (r *reader) target(string) ([]field, string) {
	all := &r.s.Daemon.Targets
	*all = append(*all, daemon.Target{})
	t := &(*all)[len(*all)-1]
	return []field{
		{"login", r.text(&t.Login, login)},
		{"channels", r.number(&t.Channels, 1, daemon.MaxChannels)},
		{"queue-size", r.number(&t.QueueSize, 1, srp.MaxQueueSize)},
		{"luns", r.numbers(&t.LUNs, 0, daemon.MaxLUN)},
		{"required", r.flag(&t.Required)},
	}, "login"
}

func (r *reader) export(string) ([]field, string) {
	all := &r.s.Daemon.Exports
	*all = append(*all, daemon.Export{})
	x := &(*all)[len(*all)-1]
	return []field{
		{"unit", r.text(&x.Unit, unit)},
		{"name", r.text(&x.Name, exportName)},
		{"read-only", r.flag(&x.ReadOnly)},
		{"allow", r.texts(&x.Allow, accessRule)},
	}, "unit"
}

// finish checks what options say of each other.
func (r *reader) finish() (*Settings, error) {
	c := &r.s.Daemon
	if c.CaptureSize < daemon.MinCapture {
		r.bad("capture-size", "it is %s, want %s or more", bytesize.Format(c.CaptureSize), bytesize.Format(daemon.MinCapture))
	}
	if d := c.NBD.PollTime; d < 0 || d > daemon.MaxPollTime {
		r.bad("nbd.poll-time", "it is %v, want 0s for none, up to %v", d, daemon.MaxPollTime)
	}
	if n := len(c.Embedded); n > daemon.MaxEmbedded {
		r.bad(fmt.Sprintf("embedded[%d]", daemon.MaxEmbedded), "it is one too many, want %d at most", daemon.MaxEmbedded)
	}
	names, files := twice{r, map[string]string{}}, twice{r, map[string]string{}}
	for i, e := range c.Embedded {
		path := fmt.Sprintf("embedded[%d]", i)
		_, named := names.seen[e.Name]
		names.see(join(path, "name"), e.Name)
		if len(e.Units) > daemon.MaxUnits {
			r.bad(fmt.Sprintf("%s.unit[%d]", path, daemon.MaxUnits), "it is one too many, want %d at most", daemon.MaxUnits)
		}
		if _, err := embedded.ParseFaults(e.Faults, len(e.Units)); err != nil && !slices.Contains(e.Faults, "") { // which was refused before
			r.bad(join(path, "faults"), "%v", err)
		}
		for n, u := range e.Units {
			path := fmt.Sprintf("%s.unit[%d]", path, n)
			if u.Path != "" && u.Store != embedded.File {
				r.bad(join(path, "path"), "it is for a unit with store = %q, and this one is of %q", embedded.File, u.Store)
			}
			if u.Store != embedded.File || u.Path == "" && named {
				continue
			}
			image, err := daemon.ImagePath(c.StateDir, cmp.Or(u.Path, daemon.ImageName(e.Name, n)))
			if err != nil {
				r.bad(join(path, "path"), "it is %q: %v", u.Path, err)
			}
			files.see(join(path, "path"), image)
		}
	}
	logins, exports := twice{r, map[string]string{}}, twice{r, map[string]string{}}
	for i, t := range c.Targets {
		logins.see(fmt.Sprintf("target[%d].login", i), t.Login)
	}
	for i, x := range c.Exports {
		exports.see(fmt.Sprintf("export[%d].name", i), x.Name)
	}
	if c.Socket != "" && c.Socket == c.Control {
		r.bad("control.socket", "it is %q, which nbd.socket is too: want two paths", c.Control)
	}
	switch n := &c.NBD; {
	case n.TLS != "" && n.TLS != "off" && n.Certificates == "" && n.Keys == "":
		r.bad("nbd.tls", "it is %q, and there is neither nbd.tls-certificates nor nbd.tls-psk: want a directory with server-cert.pem and server-key.pem, or a file of keys", n.TLS)
	case n.Certificates != "" && n.Keys != "":
		r.bad("nbd.tls-psk", "it is %q, and there is nbd.tls-certificates: want one of them", n.Keys)
	case n.VerifyPeer && (n.TLS == "off" || n.Certificates == ""):
		r.bad("nbd.tls-verify-peer", "it is true, and there is no TLS: want nbd.tls-certificates")
	}
	if c.OnlyListed && len(c.Exports) == 0 {
		r.bad("nbd.only-listed", "it is true, and there is no [[export]]: nothing would be served")
	}
	if len(r.problems) > 0 {
		return nil, explain(r.sorted())
	}
	return &r.s, nil
}

// twice finds values that stand twice where they may not.
type twice struct {
	r    *reader
	seen map[string]string // by value, the option
}

func (t twice) see(path, value string) {
	if value == "" {
		return
	}
	if first, ok := t.seen[value]; ok {
		at := t.r.places.find(first)
		t.r.bad(path, "it is %q, which %s is too (%s:%d): want another", value, first, at.file, at.line)
		return
	}
	t.seen[value] = path
}

func notEmpty(s string) error {
	if s == "" {
		return errors.New("want a path")
	}
	return nil
}

func absolute(s string) error {
	if !filepath.IsAbs(s) {
		return errors.New("want a path that begins with /")
	}
	return nil
}

func socketPath(s string) error {
	if err := absolute(s); err != nil || len(s) > socket.MaxPath {
		return fmt.Errorf("want a path of 1 to %d bytes that begins with /", socket.MaxPath)
	}
	return nil
}

func group(s string) error {
	_, err := daemon.GroupID(s)
	return err
}

func address(s string) error {
	if _, err := daemon.Loopback(s); err != nil || s == "" {
		return errors.New("want a port, which is of 127.0.0.1, or HOST:PORT")
	}
	return nil
}

func accessRule(s string) error {
	_, err := nbd.ParseAccess([]string{s})
	return err
}

var nameOfTarget = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

func targetName(s string) error {
	if !nameOfTarget.MatchString(s) {
		return errors.New("want 1 to 32 letters, digits, '.', '-' and '_', a letter or digit first")
	}
	return nil
}

// faultRule looks at a rule by itself; whether the target has the unit that it names is seen at the end.
func faultRule(s string) error {
	_, err := embedded.ParseFaults([]string{s}, daemon.MaxUnits)
	return err
}

func login(s string) error {
	_, err := srp.ParseTarget(s)
	return err
}

var nameOfDisk = regexp.MustCompile(`^disk[0-9]+$`)

// identity is how identities of units look (package scsi, UnitID).
var identity = regexp.MustCompile(`^(naa|eui|uuid|t10|iqn|serial)\.[^\s/]+$`)

func unit(s string) error {
	if !nameOfDisk.MatchString(s) && !identity.MatchString(s) {
		return errors.New("want a name such as disk0, or an identity such as naa.6001405f1a2b3c4d, as srpctl units prints it")
	}
	return nil
}

// maxName bounds the name of an export, in bytes: it has to fit in lists and URIs.
const maxName = 255

func exportName(s string) error {
	if s == "" || len(s) > maxName || nameOfDisk.MatchString(s) || identity.MatchString(s) {
		return fmt.Errorf("want 1 to %d bytes, and nothing that looks like the names that the daemon gives: disk and a number, or an identity", maxName)
	}
	return nil
}
