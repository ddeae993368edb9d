package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"minisrp/bench/result"
)

// Compare writes the changes from one result to another.
func Compare(w io.Writer, changes []result.Change) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tof\tbefore\tafter\tchange\tbeyond the spreads")
	for _, c := range changes {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, c.Of, median(c.Before), median(c.After), change(c), beyond(c))
	}
	return t.Flush()
}

// median prints one with its spread.
func median(s result.Series) string {
	if len(s) == 0 {
		return "not run"
	}
	least, most := s.Spread()
	return fmt.Sprintf("%s (%s)", number(s.Median()), span(number, least, most))
}

func change(c result.Change) string {
	if len(c.Before) == 0 || len(c.After) == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", c.Percent)
}

// beyond says whether a change is more than the rounds of a run differ by, and whether it is for the better.
func beyond(c result.Change) string {
	switch {
	case !c.Apart():
		return "no"
	case c.Worse() > 0:
		return "yes: worse"
	}
	return "yes: better"
}
