package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"minisrp/bench/result"
)

// Table writes the figures with what is demanded, what was found, and the verdict. None is left out.
func Table(w io.Writer, r *result.Result) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tof\tmust\taim\tmedian\tspread\tn\tverdict")
	before := ""
	for _, f := range r.Figures {
		title := f.Title
		if title == before {
			title = "  same"
		}
		before = f.Title
		v := f.Verdict()
		if v == result.NotRun {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t-\t-\t0\t%s: %s\n", title, f.Of, f.Bound(f.Must), f.Bound(f.Aim), v, f.Missing)
			continue
		}
		least, most := f.Values.Spread()
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", title, f.Of, f.Bound(f.Must), f.Bound(f.Aim),
			number(f.Values.Median()), span(number, least, most), len(f.Values), v)
	}
	return t.Flush()
}

// Samples writes what was measured: medians of the rounds with their spread, by group and contestant.
func Samples(w io.Writer, r *result.Result) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, g := range r.Groups {
		fmt.Fprintf(t, "\n%s\trequests/s\tspread\tGB/s\tp50 µs\tp99 µs\tp99.9 µs\tserver µs\tclient µs\tMiB\tothers\n", g.Title)
		for _, name := range contestants(g) {
			rows := series(g, name)
			if len(rows.iops) == 0 {
				fmt.Fprintf(t, "%s\t%s\n", name, rows.failed)
				continue
			}
			least, most := rows.iops.Spread()
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, count(rows.iops.Median()), span(count, least, most),
				number(rows.gbs.Median()), number(rows.p50.Median()), number(rows.p99.Median()), number(rows.p999.Median()),
				number(rows.server.Median()), number(rows.client.Median()), number(rows.resident.Median()), foreign(rows.foreign))
		}
	}
	return t.Flush()
}

// columns are the rounds of a contestant in a group.
type columns struct {
	iops, gbs, p50, p99, p999, server, client, resident, foreign result.Series
	failed                                                       string
}

func series(g result.Group, name string) columns {
	var c columns
	for _, r := range g.Rounds {
		s, ok := r.Samples[name]
		if !ok {
			c.failed, _, _ = strings.Cut(r.Failed[name], "\n")
			continue
		}
		const us = 1e3
		c.iops = append(c.iops, s.IOPS)
		c.gbs = append(c.gbs, s.Bytes/1e9)
		c.p50 = append(c.p50, s.Latency.At(result.P50)/us)
		c.p99 = append(c.p99, s.Latency.At(result.P99)/us)
		c.p999 = append(c.p999, s.Latency.At(result.P999)/us)
		c.server = append(c.server, s.ServerCPU)
		c.client = append(c.client, s.ClientCPU)
		c.resident = append(c.resident, float64(s.Resident)/(1<<20))
		c.foreign = append(c.foreign, s.Foreign)
	}
	return c
}

// contestants are the names in a group, in the order of its first round.
func contestants(g result.Group) []string {
	var names []string
	seen := map[string]bool{}
	for _, r := range g.Rounds {
		for _, n := range r.Order {
			if !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	return names
}

// foreign shows how much of the processors others had, round by round.
func foreign(s result.Series) string {
	words := make([]string, len(s))
	for i, v := range s {
		words[i] = strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strings.Join(words, " ")
}

// span prints a spread.
func span(print func(float64) string, least, most float64) string {
	if least == most {
		return print(least)
	}
	return print(least) + "–" + print(most)
}

// number prints a value with three digits that count.
func number(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// count prints a number of requests.
func count(v float64) string {
	switch {
	case v >= 1e6:
		return number(v/1e6) + "M"
	case v >= 1e3:
		return number(v/1e3) + "k"
	}
	return number(v)
}
