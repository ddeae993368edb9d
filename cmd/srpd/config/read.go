package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"minisrp/cmd/bytesize"
	"minisrp/cmd/srpd/daemon"
)

// reader reads documents into settings.
type reader struct {
	s        Settings
	places   places
	problems Problems
	bases    map[string]int // elements of lists that earlier documents had
}

func newReader() *reader {
	r := &reader{s: Settings{Daemon: daemon.Defaults(), LogLevel: "info", LogFormat: "text"}}
	r.places = places{at: map[string]place{}, counts: map[string]int{}}
	return r
}

// setting reads a value, at a path.
type setting func(path string, v any)

// field is an option of a table.
type field struct {
	name string
	read setting
}

// document reads one.
func (r *reader) document(file string, doc []byte) {
	r.s.Files = append(r.s.Files, file)
	all := map[string]any{}
	if err := toml.Unmarshal(doc, &all); err != nil {
		r.problems = append(r.problems, syntax(file, err))
		return
	}
	r.bases = map[string]int{}
	for path, n := range r.places.counts {
		r.bases[path] = n
	}
	r.places.add(file, doc)
	r.table(r.options())("", all)
}

// bad notes what is wrong with an option.
func (r *reader) bad(path, format string, args ...any) {
	at := r.places.find(path)
	r.problems = append(r.problems, Problem{File: at.file, Line: at.line, Option: path, Text: fmt.Sprintf(format, args...)})
}

// table reads a table, of which every key has to be one of the fields.
func (r *reader) table(fields []field) setting {
	return func(path string, v any) {
		t, ok := v.(map[string]any)
		if !ok {
			r.bad(path, "it is %s, want a table: [%s]", kind(v), path)
			return
		}
		for _, f := range fields {
			if v, ok := t[f.name]; ok {
				f.read(join(path, f.name), v)
			}
		}
		for name := range t {
			if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
				r.bad(join(path, name), "no such option: want %s", names(fields))
			}
		}
	}
}

func names(fields []field) string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.name
	}
	return strings.Join(all, ", ")
}

// list reads a list of tables; element returns the fields of a new one, and what has to be there.
func (r *reader) list(element func(path string) (fields []field, needs string)) setting {
	return func(path string, v any) {
		l, ok := v.([]any)
		if !ok {
			r.bad(path, "it is %s, want a list of tables: [[%s]]", kind(v), path)
			return
		}
		for i, v := range l {
			path := fmt.Sprintf("%s[%d]", path, r.bases[path]+i)
			fields, needs := element(path)
			r.table(fields)(path, v)
			if t, ok := v.(map[string]any); ok && needs != "" && t[needs] == nil {
				r.bad(join(path, needs), "it is missing, and it has to be there")
			}
		}
	}
}

// text reads a string that check does not refuse.
func (r *reader) text(dst *string, check func(string) error) setting {
	return func(path string, v any) {
		s, ok := v.(string)
		if !ok {
			r.bad(path, "it is %s, want text in quotes", kind(v))
			return
		}
		if check != nil {
			if err := check(s); err != nil {
				r.bad(path, "it is %q: %v", s, err)
				return
			}
		}
		*dst = s
	}
}

// word reads one of several words.
func word[T ~string](r *reader, dst *T, words ...T) setting {
	var s string
	return func(path string, v any) {
		r.text(&s, func(s string) error {
			if slices.Contains(words, T(s)) {
				return nil
			}
			var all []string
			for _, w := range words {
				all = append(all, string(w))
			}
			return fmt.Errorf("want one of %s", strings.Join(all, ", "))
		})(path, v)
		if s != "" {
			*dst = T(s)
		}
	}
}

// flag reads a truth value.
func (r *reader) flag(dst *bool) setting {
	return func(path string, v any) {
		b, ok := v.(bool)
		if !ok {
			r.bad(path, "it is %s, want true or false", kind(v))
			return
		}
		*dst = b
	}
}

// number reads a whole number.
func (r *reader) number(dst *int, least, most int) setting {
	return func(path string, v any) {
		n, ok := v.(int64)
		switch {
		case !ok:
			r.bad(path, "it is %s, want a whole number, %d to %d", kind(v), least, most)
		case n < int64(least) || n > int64(most):
			r.bad(path, "it is %d, want %d to %d", n, least, most)
		default:
			*dst = int(n)
		}
	}
}

// numbers reads a list of whole numbers.
func (r *reader) numbers(dst *[]int, least, most int) setting {
	return func(path string, v any) {
		l, ok := v.([]any)
		if !ok {
			r.bad(path, "it is %s, want a list of whole numbers such as [0, 1]", kind(v))
			return
		}
		*dst = nil
		for i, v := range l {
			n := 0
			r.number(&n, least, most)(fmt.Sprintf("%s[%d]", path, i), v)
			*dst = append(*dst, n)
		}
	}
}

// texts reads a list of strings that check does not refuse.
func (r *reader) texts(dst *[]string, check func(string) error) setting {
	return func(path string, v any) {
		l, ok := v.([]any)
		if !ok {
			r.bad(path, "it is %s, want a list of texts in quotes such as [\"a\", \"b\"]", kind(v))
			return
		}
		*dst = nil
		for i, v := range l {
			s := ""
			r.text(&s, check)(fmt.Sprintf("%s[%d]", path, i), v)
			*dst = append(*dst, s)
		}
	}
}

// duration reads a time such as "10m".
func (r *reader) duration(dst *time.Duration) setting {
	return func(path string, v any) {
		var text string
		r.text(&text, func(s string) error {
			if d, err := time.ParseDuration(s); err != nil || d < 0 {
				return errors.New(`want a time such as "90s", "10m" or "12h"`)
			}
			return nil
		})(path, v)
		if text != "" {
			*dst, _ = time.ParseDuration(text) // it has been checked
		}
	}
}

// size reads a number of bytes: text with a unit, or a number.
func (r *reader) size(dst *uint64) setting {
	return func(path string, v any) {
		var s bytesize.Size
		var err error
		switch v := v.(type) {
		case string:
			err = s.Set(v)
		case int64:
			err = s.Set(fmt.Sprint(v))
		default:
			err = errors.New(`want a size such as "8G"`)
		}
		switch {
		case err != nil:
			r.bad(path, "it is %s: %v", show(v), err)
		case s%512 != 0:
			r.bad(path, "it is %d bytes, want a multiple of 512", uint64(s))
		default:
			*dst = uint64(s)
		}
	}
}

// kind says of what kind a value is.
func kind(v any) string {
	switch v := v.(type) {
	case string:
		return "the text " + show(v)
	case int64:
		return fmt.Sprintf("the number %d", v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return "not a number"
		}
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprint(v)
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	}
	return "a date or time"
}

func show(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%.60q", v)
	case int64:
		return fmt.Sprint(v)
	}
	return kind(v)
}

// level refuses what is no level of slog.
func level(s string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(s)); err != nil {
		return errors.New("want debug, info, warn or error")
	}
	return nil
}

// sorted returns the problems by file, in the order in which files were read, and line.
func (r *reader) sorted() Problems {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(r.s.Files, a.File), slices.Index(r.s.Files, b.File)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Option, b.Option))
	})
	return r.problems
}
