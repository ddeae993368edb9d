package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// place is where an option stands.
type place struct {
	file string
	line int
}

// places finds options in files.
type places struct {
	at     map[string]place
	counts map[string]int // elements of lists, by their path
}

// add notes where the options of a document stand, which is known to be right. Elements of lists are numbered on from
// those of earlier documents.
func (p *places) add(file string, doc []byte) {
	var parser unstable.Parser
	parser.Reset(doc)
	table := ""
	for parser.NextExpression() {
		e := parser.Expression()
		switch e.Kind {
		case unstable.Table:
			table = p.key(&parser, file, "", e.Key())
		case unstable.ArrayTable:
			path := p.key(&parser, file, "", e.Key())
			n := p.counts[path]
			p.counts[path]++
			table = fmt.Sprintf("%s[%d]", path, n)
			p.at[table] = p.at[path]
		case unstable.KeyValue:
			p.value(&parser, file, p.key(&parser, file, table, e.Key()), e.Value())
		}
	}
}

// key notes a key's parts, and returns its path. A part that is a list is its last element.
func (p *places) key(parser *unstable.Parser, file, path string, parts unstable.Iterator) string {
	for parts.Next() {
		if n := p.counts[path]; n > 0 {
			path = fmt.Sprintf("%s[%d]", path, n-1)
		}
		part := parts.Node()
		path = join(path, string(part.Data))
		p.at[path] = place{file, parser.Shape(part.Raw).Start.Line}
	}
	return path
}

// value notes what is inside of a value.
func (p *places) value(parser *unstable.Parser, file, path string, v *unstable.Node) {
	switch v.Kind {
	case unstable.InlineTable:
		for all := v.Children(); all.Next(); {
			p.value(parser, file, p.key(parser, file, path, all.Node().Key()), all.Node().Value())
		}
	case unstable.Array:
		for all := v.Children(); all.Next(); {
			e := fmt.Sprintf("%s[%d]", path, p.counts[path])
			p.counts[path]++
			p.at[e] = p.at[path]
			if all.Node().Raw.Length > 0 {
				p.at[e] = place{file, parser.Shape(all.Node().Raw).Start.Line}
			}
			p.value(parser, file, e, all.Node())
		}
	}
}

// find returns where an option stands, or else what it is part of.
func (p *places) find(path string) place {
	for path != "" {
		if at, ok := p.at[path]; ok {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return place{}
}

// on returns the option that stands on a line of a file: the longest, if there are more.
func (p *places) on(at place) string {
	var names []string
	for path, there := range p.at {
		if there == at {
			names = append(names, path)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// bare is a key that needs no quotes.
var bare = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func join(path, name string) string {
	if !bare.MatchString(name) {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
