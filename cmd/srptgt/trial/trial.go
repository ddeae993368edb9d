package trial

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"minisrp/cmd/srptgt/setup"
	"minisrp/srp"
	"minisrp/srp/target"
)

// Version is the number of the report's format. It grows when a field changes its meaning or goes away.
const Version = 1

// Report is what a trial has found.
type Report struct {
	Version    int         `json:"version"`
	Target     string      `json:"target_id"` // 128 bits, hexadecimal
	Initiators []Initiator `json:"initiators"`
	Sessions   []Session   `json:"sessions"` // as the target lists them, when all were logged in
	Faults     []Fault     `json:"faults"`
}

// Initiator is what one initiator got.
type Initiator struct {
	ID      string  `json:"initiator_id"`
	Address string  `json:"address"`
	Error   string  `json:"error,omitempty"`  // why it could not log in, or saw no unit
	Advice  string  `json:"advice,omitempty"` // what can be done about it
	Refused bool    `json:"refused"`          // by the target
	Login   float64 `json:"login_seconds"`

	Channels      int    `json:"channels"`
	Fewer         string `json:"fewer,omitempty"` // why they are fewer than asked for
	Credits       int    `json:"credits"`         // that each channel began with
	MaxITIU       int    `json:"max_it_iu"`       // bytes
	ImmediateData int    `json:"immediate_data"`  // bytes
	Units         []Unit `json:"units"`
}

// Unit is a unit that an initiator sees.
type Unit struct {
	LUN      string  `json:"lun"`
	Identity string  `json:"identity"`
	Serial   string  `json:"serial"`
	Size     uint64  `json:"size"`          // bytes
	Block    uint32  `json:"logical_block"` // bytes
	Read     float64 `json:"read_seconds"`  // for its first and its last block
	Error    string  `json:"error,omitempty"`
}

// Session is a line of the target's list of sessions.
type Session struct {
	Initiator string    `json:"initiator_id"`
	Group     string    `json:"group"`
	Units     []string  `json:"units"` // LUN=serial number
	Channels  []Channel `json:"channels"`
}

// Channel is one of a session.
type Channel struct {
	Address  string `json:"address"`
	Credits  int    `json:"credits"`
	Commands uint64 `json:"commands"`
	Faults   uint64 `json:"faults"`
}

// Fault is a rule, and how often it has acted.
type Fault struct {
	Rule string `json:"rule"`
	Hits uint64 `json:"hits"`
}

// As is who logs in.
type As struct {
	ID   srp.PortID
	Addr netip.Addr
}

// ParseAs reads ID@ADDRESS, of which each part may be left out.
func ParseAs(text string, n int) (As, error) {
	id, addr, _ := strings.Cut(text, "@")
	a := As{srp.IOClassR16a.PortID(0, uint64(0x0200000000000100+n)), Address(n)}
	var err error
	if id != "" {
		if a.ID, err = srp.ParsePortID(id); err != nil {
			return a, err
		}
	}
	if addr != "" {
		if a.Addr, err = netip.ParseAddr(addr); err != nil || a.Addr.Zone() != "" {
			return a, fmt.Errorf("address %q: want an IPv4 or IPv6 address", addr)
		}
	}
	return a, nil
}

// Address is the one of the n-th initiator that is given none.
func Address(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, byte(n + 1)}) }

// Config says how to try.
type Config struct {
	As       []As
	Channels int           // of each initiator
	Login    time.Duration // the longest that a login may take
}

// Run logs in as each initiator, looks at what it sees, and reads a little of each unit. All stay logged in until the
// end.
func Run(ctx context.Context, t *setup.Target, c Config) (*Report, error) {
	r := &Report{Version: Version, Target: setup.ID.String(), Sessions: []Session{}, Faults: []Fault{}}
	var hosts []*host
	for i, as := range c.As {
		h, err := newHost(ctx, t, i, as, c.Channels)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("initiator %s: %w", as.ID, err), closeAll(ctx, hosts))
		}
		hosts = append(hosts, h)
		r.Initiators = append(r.Initiators, h.try(ctx, c.Login))
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), closeAll(ctx, hosts))
		}
	}
	sessions, err := t.Port.Sessions(ctx)
	if err != nil {
		return nil, errors.Join(err, closeAll(ctx, hosts))
	}
	for _, s := range sessions {
		r.Sessions = append(r.Sessions, line(&s))
	}
	for rule, hits := range t.Rules.Struck {
		r.Faults = append(r.Faults, Fault{rule, hits})
	}
	return r, closeAll(ctx, hosts)
}

// line is a session for the list.
func line(s *target.Session) Session {
	l := Session{Initiator: s.Initiator.String(), Group: s.Group, Units: []string{}}
	for _, u := range s.Units {
		l.Units = append(l.Units, fmt.Sprintf("%d=%s", u.LUN, u.Serial))
	}
	for _, c := range s.Channels {
		l.Channels = append(l.Channels, Channel{c.Peer.Src.Addr().Unmap().String(), c.Credits, c.Commands, c.Faults})
	}
	return l
}

// Outcome is the worst that initiators have met.
type Outcome uint8

const (
	Good        Outcome = iota // every one has logged in, and can use what it sees
	Unusable                   // a unit cannot be used, or none is seen
	Unreachable                // a login was not answered, or broke
	Refused                    // a login was refused
)

// Outcome returns the worst that an initiator has met.
func (r *Report) Outcome() (o Outcome) {
	for i := range r.Initiators {
		x := &r.Initiators[i]
		switch {
		case x.Refused:
			o = max(o, Refused)
		case x.Channels == 0:
			o = max(o, Unreachable)
		case x.Error != "":
			o = max(o, Unusable)
		}
		for _, u := range x.Units {
			if u.Error != "" {
				o = max(o, Unusable)
			}
		}
	}
	return o
}

// quiet is where the parts of an initiator log: what they meet stands in the report.
var quiet = slog.New(slog.DiscardHandler)

// closeAll logs everybody out.
func closeAll(ctx context.Context, hosts []*host) error {
	var errs []error
	for _, h := range hosts {
		errs = append(errs, h.close(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}
