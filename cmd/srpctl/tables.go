package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// table writes rows of columns below each other.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, head ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(head...)
	return t
}

func (t table) row(cells ...string) { fmt.Fprintln(t.w, strings.Join(cells, "\t")) }
func (t table) end()                { _ = t.w.Flush() } // the writer below keeps its error

// or returns a dash in place of nothing.
func or(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// size writes a number of bytes for people: three digits and a power of 1024.
func size(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1023.95 && i < 5 {
		f, i = f/1024, i+1
	}
	s := fmt.Sprintf("%.1f", f)
	return strings.TrimSuffix(s, ".0") + " " + string("KMGTPE"[i]) + "iB"
}

// number writes a number as it is.
func number[T int | int64 | uint64](n T) string { return fmt.Sprint(n) }

// printFacts prints what there is of names and values.
func printFacts(w io.Writer, facts ...string) {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	for i := 0; i < len(facts); i += 2 {
		if facts[i+1] != "" {
			t.row("  "+facts[i], facts[i+1])
		}
	}
	t.end()
}

// counts writes named numbers in the order of their names.
func counts(m map[string]uint64) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(words, ", ")
}

// firstOf returns a, or b if there is no a.
func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
