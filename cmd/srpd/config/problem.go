package config

import (
	"fmt"
	"strings"
)

// Problem is something that is wrong in a file.
type Problem struct {
	File   string
	Line   int    // from 1
	Option string // such as nbd.tcp or embedded[0].unit[2].size; "" if it is none's
	Text   string // what is wrong, and what would be right
}

func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, p.Line)
	}
	if p.Option != "" {
		s += ": " + p.Option
	}
	return s + ": " + p.Text
}

// Problems is what is wrong, in the order of files and lines. The user corrects the files.
type Problems []Problem

// Error has a line for each.
func (all Problems) Error() string {
	lines := make([]string, len(all))
	for i, p := range all {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
