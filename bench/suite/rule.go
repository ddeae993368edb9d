package suite

import (
	"strings"

	"minisrp/bench/result"
)

// figure adds one of which more is better.
func (s *Suite) figure(group, name, title, of string, must, aim float64, value func(result.Round) (float64, error)) {
	s.rules = append(s.rules, rule{group: group, value: value,
		Figure: result.Figure{Name: name, Title: title, Of: of, Unit: "ratio", Must: must, Aim: aim}})
}

// lower adds one of which less is better.
func (s *Suite) lower(group, name, title, of string, must, aim float64, value func(result.Round) (float64, error)) {
	s.figure(group, name, title, of, must, aim, value)
	s.rules[len(s.rules)-1].Lower = true
}

// slug makes a name of figures from one of contestants.
func slug(name string) string { return strings.NewReplacer(" ", "-").Replace(name) }
