package suite

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"minisrp/bench/model"
	"minisrp/bench/peer"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
)

// Config says what to measure.
type Config struct {
	Pool     *peer.Pool
	Size     uint64         // of the pool's disks
	Cases    *regexp.Regexp // of figures' names; nil: all
	Duration time.Duration  // of a measurement of a client and a server
	Dir      string         // for what lasts, on a disk
}

// Suite is the groups and the figures of a run.
type Suite struct {
	cfg    Config
	kinds  map[string]peer.Kind // of the contestants that are servers
	groups []rounds.Group
	rules  []rule
	bed    *model.Bed // of the loopback groups, when the first was measured
}

// rule makes a figure of the rounds of a group.
type rule struct {
	result.Figure
	group string
	value func(r result.Round) (float64, error)
}

// New makes the suite, without what Cases leaves out. Errors: there is no such case.
func New(cfg Config) (*Suite, error) {
	s := &Suite{cfg: cfg, kinds: map[string]peer.Kind{}}
	s.addLoopback()
	s.addPriority()
	s.addNBD()
	s.addDisks()
	s.addIdle()
	s.addDepths()
	if cfg.Cases != nil {
		return s, s.narrow(cfg.Cases)
	}
	return s, nil
}

// narrow leaves the figures whose names match, with the groups that they are made of, and groups whose names match.
func (s *Suite) narrow(cases *regexp.Regexp) error {
	var names []string
	for _, r := range s.rules {
		names = append(names, r.Name)
	}
	s.rules = slices.DeleteFunc(s.rules, func(r rule) bool { return !cases.MatchString(r.Name) })
	s.groups = slices.DeleteFunc(s.groups, func(g rounds.Group) bool {
		used := slices.ContainsFunc(s.rules, func(r rule) bool { return r.group == g.Name })
		return !used && !cases.MatchString(g.Name)
	})
	if len(s.groups) == 0 {
		return fmt.Errorf("--cases %q: no case has such a name; there are %s", cases, strings.Join(names, ", "))
	}
	return nil
}

// Close ends what runs in this process.
func (s *Suite) Close(ctx context.Context) error {
	if s.bed == nil {
		return nil
	}
	return s.bed.Close(ctx)
}

// Groups returns what is to be measured.
func (s *Suite) Groups() []rounds.Group { return s.groups }

// Contestants returns who takes part, and of those who cannot, why.
func (s *Suite) Contestants() []result.Contestant {
	var all []result.Contestant
	seen := map[string]bool{}
	for _, g := range s.groups {
		for _, c := range g.Contestants {
			if seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			k, server := s.kinds[c.Name]
			if !server {
				all = append(all, result.Contestant{Name: c.Name, Command: inProcess[c.Name]})
				continue
			}
			rc := result.Contestant{Name: c.Name, Command: s.cfg.Pool.Command(k)}
			if program, _, _ := strings.Cut(rc.Command, " "); peer.Have(program) != nil {
				rc.Missing = peer.Have(program).Error()
			}
			all = append(all, rc)
		}
	}
	return all
}

// Figures computes the figures of what was measured so far.
func (s *Suite) Figures(groups []result.Group) []result.Figure {
	var all []result.Figure
	for _, r := range s.rules {
		f := r.Figure
		f.Missing = "not measured yet"
		for _, g := range groups {
			if g.Name != r.group {
				continue
			}
			for _, round := range g.Rounds {
				v, err := r.value(round)
				if err != nil {
					f.Missing = err.Error()
					continue
				}
				f.Values = append(f.Values, v)
			}
		}
		if len(f.Values) > 0 {
			f.Missing = ""
		}
		all = append(all, f)
	}
	return all
}
