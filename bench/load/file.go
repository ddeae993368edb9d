package load

import (
	"errors"
	"strings"
)

// ParseFile reads a job file: sections in brackets, a name each, with option=value lines. What a [global] section says
// holds for the sections after it. Lines that begin with ; or # are comments. The name of the file is for messages.
// Errors: *OptionError for each line that is wrong, joined.
func ParseFile(name, text string) ([]Job, error) {
	global := NewJob("")
	var jobs []Job
	var at *Job
	var begins []int // the line of each job's section
	var errs []error
	for n, line := range strings.Split(text, "\n") {
		n++
		line = strings.TrimSpace(line)
		bad := func(option, value, want string) {
			e := &OptionError{File: name, Line: n, Option: option, Value: value, Want: want}
			if at != nil {
				e.Job = at.Name
			}
			errs = append(errs, e)
		}
		if line == "" || line[0] == ';' || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			section, ok := strings.CutSuffix(line[1:], "]")
			section = strings.TrimSpace(section)
			if !ok || section == "" {
				bad("", line, "want a name in brackets, such as [job]")
				continue
			}
			if section == "global" {
				at = &global
				continue
			}
			jobs = append(jobs, global.clone(section))
			begins = append(begins, n)
			at = &jobs[len(jobs)-1]
			continue
		}
		if at == nil {
			bad("", line, "want a section before it, such as [global] or [job]")
			continue
		}
		option, value, _ := strings.Cut(line, "=")
		option, value = strings.TrimSpace(option), strings.TrimSpace(value)
		err := at.Set(option, value)
		var e *OptionError
		if errors.As(err, &e) {
			e.File, e.Line = name, n
			errs = append(errs, e)
		}
	}
	if len(jobs) == 0 && len(errs) == 0 {
		errs = append(errs, &OptionError{File: name, Line: 1, Want: "want a section for a job, such as [job]"})
	}
	if len(errs) == 0 {
		for i := range jobs {
			jobs[i].settle()
			err := jobs[i].check()
			var e *OptionError
			if errors.As(err, &e) {
				e.File, e.Line = name, begins[i]
				errs = append(errs, e)
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return jobs, nil
}

// clone returns a copy under another name. What it shares, nobody changes in place.
func (j *Job) clone(name string) Job {
	c := *j
	c.Name = name
	return c
}
