package srp

import (
	"fmt"
	"strings"
)

// OptionError says which option of a login string is wrong, and what would be right. The string cannot be used; show
// the text to the user. What ParseTarget returns is always one.
type OptionError struct {
	Option string // its name, as it was written
	Value  string // as it was written; empty when there was none
	Want   string // what would be right

	why string // when it is not the value that is wrong
}

// shown is how many bytes of an option's name or value an error's text shows.
const shown = 64

func (e *OptionError) Error() string {
	s := "srp: login option " + quoted(e.Option)
	if e.Value != "" {
		s += "=" + quoted(e.Value)
	}
	if e.why != "" {
		return s + " " + e.why + ": want " + e.Want
	}
	if e.Value == "" {
		s += " has no value"
	}
	return s + ": want " + e.Want
}

// quoted returns s as it is where that is readable, else quoted, and never long.
func quoted(s string) string {
	rest := ""
	if len(s) > shown {
		s, rest = s[:shown], "…"
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c == '"' || c >= 0x7f {
			return fmt.Sprintf("%q", s) + rest
		}
	}
	if s == "" {
		return `""` + rest
	}
	return s + rest
}

// unknownOption tells of a name that is no option's, with the one that may be meant.
func unknownOption(name, value string) *OptionError {
	e := &OptionError{Option: name, Value: value, why: "is unknown"}
	if near := nearest(name); near != "" {
		e.Want = near + "; did you mean that?"
		return e
	}
	names := make([]string, len(optionTable))
	for i := range optionTable {
		names[i] = optionTable[i].name
	}
	e.Want = "one of " + strings.Join(names, ", ")
	return e
}

// nearest returns the option whose name differs least from what was written, or "" when none is near: up to a third of
// its letters may differ.
func nearest(name string) string {
	if len(name) > shown {
		return ""
	}
	plain := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
	near, least := "", 0
	for i := range optionTable {
		n := optionTable[i].name
		d := editDistance(plain, n)
		if min(len(plain), len(n)) >= 5 && (strings.Contains(plain, n) || strings.Contains(n, plain)) {
			d = min(d, len(n)/3) // max_sectors, retry_count
		}
		if d <= len(n)/3 && (near == "" || d < least) {
			near, least = n, d
		}
	}
	return near
}

// editDistance counts the bytes to insert, delete, replace or swap with their neighbour to make b of a.
func editDistance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
