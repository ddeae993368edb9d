package result

import "fmt"

// Figure is a line of the table: a quantity with what it must be and what is aimed at.
type Figure struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Of      string  `json:"of"`                // what is put in relation to what
	Unit    string  `json:"unit"`              // ratio, or that of an absolute figure
	Lower   bool    `json:"lower,omitempty"`   // lower is better
	Must    float64 `json:"must,omitempty"`    // 0: nothing is demanded
	Aim     float64 `json:"aim,omitempty"`     // 0: none beyond what must be
	Values  Series  `json:"values"`            // round by round
	Missing string  `json:"missing,omitempty"` // why there are none
}

// Verdict is what has become of a figure.
type Verdict string

// The verdicts.
const (
	Aim    Verdict = "aim"     // what is aimed at
	Met    Verdict = "met"     // what must be
	Missed Verdict = "MISSED"  // not even that
	Shown  Verdict = "-"       // nothing is demanded
	NotRun Verdict = "not run" // see Missing
)

// Verdict judges the median.
func (f Figure) Verdict() Verdict {
	m := f.Values.Median()
	switch {
	case len(f.Values) == 0:
		return NotRun
	case f.Must == 0 && f.Aim == 0:
		return Shown
	case f.Aim != 0 && f.reaches(m, f.Aim):
		return Aim
	case f.reaches(m, f.Must):
		return Met
	}
	return Missed
}

// reaches says whether a value is as good as a bound.
func (f Figure) reaches(v, bound float64) bool {
	if f.Lower {
		return v <= bound
	}
	return v >= bound
}

// Bound prints what is demanded, as the table does.
func (f Figure) Bound(v float64) string {
	switch {
	case v == 0:
		return "-"
	case f.Lower:
		return fmt.Sprintf("≤ %.4g", v)
	}
	return fmt.Sprintf("≥ %.4g", v)
}
