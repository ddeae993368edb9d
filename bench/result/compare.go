package result

// Change is what has become of a figure from one result to another.
type Change struct {
	Name, Title, Of, Unit string
	Lower                 bool    // lower is better
	Before, After         Series  // either may be empty
	Percent               float64 // of the medians; above 0: more
}

// Apart says that the spreads do not touch: what has changed is more than what the rounds of a run differ by.
func (c Change) Apart() bool {
	if len(c.Before) == 0 || len(c.After) == 0 {
		return false
	}
	low, high := c.Before.Spread()
	least, most := c.After.Spread()
	return least > high || most < low
}

// Worse returns by how many percent the figure has become worse; below 0 it is better.
func (c Change) Worse() float64 {
	if c.Lower {
		return c.Percent
	}
	return -c.Percent
}

// Compare puts the figures of two results side by side, in the order of the first, and then what only the second has.
func Compare(before, after *Result) []Change {
	var all []Change
	later := map[string]Figure{}
	for _, f := range after.Figures {
		later[f.Name] = f
	}
	add := func(f Figure, before, after Series) {
		c := Change{Name: f.Name, Title: f.Title, Of: f.Of, Unit: f.Unit, Lower: f.Lower, Before: before, After: after}
		if len(before) > 0 && len(after) > 0 {
			c.Percent = 100 * (after.Median() - before.Median()) / before.Median()
		}
		all = append(all, c)
	}
	for _, f := range before.Figures {
		add(f, f.Values, later[f.Name].Values)
		delete(later, f.Name)
	}
	for _, f := range after.Figures {
		if _, only := later[f.Name]; only {
			add(f, nil, f.Values)
		}
	}
	return all
}
