package daemon

import (
	"slices"
	"strconv"
	"strings"

	"minisrp/miniport"
)

// differences says in which options a login that is asked for is another than the one to the same target that there is.
// Options that are not given count as what the daemon takes for them, where it is that which says.
func (d *Daemon) differences(old, asked *login) (all []string) {
	had, wants := d.optionsOf(old), d.optionsOf(asked)
	for _, o := range had {
		if !slices.Contains(wants, o) {
			all = append(all, "it has "+o)
		}
	}
	for _, o := range wants {
		if !slices.Contains(had, o) {
			all = append(all, "asked for is "+o)
		}
	}
	return all
}

// optionsOf returns the options of a login, one a string.
func (d *Daemon) optionsOf(l *login) []string {
	o := *l.options
	settings(&o, d.cfg.Channels, d.cfg.QueueSize)
	luns := "all LUNs"
	if len(l.luns) > 0 {
		words := make([]string, 0, len(l.luns))
		for _, n := range slices.Compact(slices.Sorted(slices.Values(l.luns))) {
			words = append(words, strconv.Itoa(n))
		}
		luns = "LUN " + strings.Join(words, " and ") + " only"
	}
	return append(strings.Split(o.String(), ","), luns)
}

// howToChange says what has to be done to have a target otherwise.
func (l *login) howToChange() string {
	switch l.origin {
	case originControl:
		return "srpctl remove " + l.target.Name() + ", and add it anew"
	case originEmbedded:
		return "name it in a [[target]] of the configuration, or with --target"
	}
	return "change the configuration"
}

// absent returns the LUNs that a login names and its target does not have, if it is known which it has.
func (d *Daemon) absent(l *login) (luns []int) {
	if !l.scanned.Load() {
		return nil
	}
	for _, n := range l.luns {
		there := slices.ContainsFunc(d.list(), func(u *unit) bool {
			return slices.ContainsFunc(u.unit.Paths(), func(p *miniport.Path) bool {
				k, ok := p.LUN().Unit()
				return p.Target() == l.target && ok && k == uint64(n)
			})
		})
		if !there {
			luns = append(luns, n)
		}
	}
	return luns
}
