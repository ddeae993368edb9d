package load

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"minisrp/cmd/bytesize"
)

// OptionError is an option that cannot be as it is. Whoever wrote it corrects it.
type OptionError struct {
	File   string // "" if it was not in a file
	Line   int    // from 1; 0 if it was not in a file
	Job    string // "" before the first section
	Option string
	Value  string
	Want   string // what would be right
}

func (e *OptionError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	}
	if e.Job != "" {
		fmt.Fprintf(&b, "job %s: ", e.Job)
	}
	if e.Option == "" {
		fmt.Fprintf(&b, "%q: %s", e.Value, e.Want)
	} else {
		fmt.Fprintf(&b, "%s=%s: %s", e.Option, e.Value, e.Want)
	}
	return b.String()
}

// option is what a job can be told.
type option struct {
	name string
	help string
	set  func(j *Job, value string) error // an error says what would be right
}

// options are all that there are, by name.
var options = []option{
	{"bs", "block size", setBlock},
	{"bsrange", "smallest and largest block size, as in 4k-64k", setRange},
	{"bssplit", "block sizes and their percentages, as in 4k/60:64k/40", setSplit},
	{"continue_on_error", "go on after requests that failed, and blocks that are not what was written", flag(func(j *Job) *bool { return &j.Continue })},
	{"fsync", "writes after which a flush is sent; 0 for none", number(0, math.MaxInt32, func(j *Job) *int { return &j.FlushEvery })},
	{"iodepth", "requests at a time", number(1, maxDepth, func(j *Job) *int { return &j.Depth })},
	{"norandommap", "places may come again before all were visited", flag(func(j *Job) *bool { return &j.Repeat })},
	{"number_ios", "requests after which the job ends", count(func(j *Job) *uint64 { return &j.Number })},
	{"numjobs", "clones of the job", number(1, maxClones, func(j *Job) *int { return &j.Clones })},
	{"offset", "where the region begins", sizeOf(func(j *Job) *uint64 { return &j.Offset })},
	{"offset_increment", "by which a clone's region begins after that of the one before", sizeOf(func(j *Job) *uint64 { return &j.Increment })},
	{"percentile_list", "percentiles of latencies to report, as in 50:99:99.9", setPercentiles},
	{"ramp_time", "time before anything counts", duration(time.Second, func(j *Job) *time.Duration { return &j.Ramp })},
	{"randseed", "of what is random", count(func(j *Job) *uint64 { return &j.Seed })},
	{"rate", "bytes a second of each clone", sizeOf(func(j *Job) *uint64 { return &j.Rate })},
	{"rate_iops", "requests a second of each clone", count(func(j *Job) *uint64 { return &j.RateIOPS })},
	{"runtime", "time after which the job ends", duration(time.Second, func(j *Job) *time.Duration { return &j.Runtime })},
	{"rw", "what is done: read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw", setRW},
	{"rwmixread", "percentage of reads in a mixed job", number(0, 100, func(j *Job) *int { return &j.ReadPercent })},
	{"size", "of the region", sizeOf(func(j *Job) *uint64 { return &j.Size })},
	{"stonewall", "begin when the jobs before have ended", flag(func(j *Job) *bool { return &j.Stonewall })},
	{"sync", "writes last when they complete (FUA)", flag(func(j *Job) *bool { return &j.FUA })},
	{"thinktime", "time from a completion to the next start, in µs", duration(time.Microsecond, func(j *Job) *time.Duration { return &j.Think })},
	{"time_based", "go over the region again until runtime has passed", flag(func(j *Job) *bool { return &j.TimeBase })},
	{"unit", "numbers of the units, as in 0,2,3; requests take turns at them", setUnits},
	{"verify", "none, crc32c or pattern", setVerify},
	{"verify_pattern", "bytes to write, as in 0xdeadbeef or \"text\"", setPattern},
}

// aliases are other names of options.
var aliases = map[string]string{"blocksize": "bs", "readwrite": "rw", "blocksize_range": "bsrange", "filename": "unit", "io_size": "size"}

// Options returns the names of all options and what each is, for help texts.
func Options() [][2]string {
	var all [][2]string
	for _, o := range options {
		all = append(all, [2]string{o.name, o.help})
	}
	return all
}

// Flags returns the names of those options that need no value.
func Flags() []string {
	return []string{"continue_on_error", "norandommap", "stonewall", "sync", "time_based"}
}

// Set sets an option by its name. Errors: *OptionError.
func (j *Job) Set(name, value string) error {
	full := name
	if a, ok := aliases[name]; ok {
		full = a
	}
	i := slices.IndexFunc(options, func(o option) bool { return o.name == full })
	if i < 0 {
		return &OptionError{Job: j.Name, Option: name, Value: value, Want: "no such option; there are " + optionNames()}
	}
	if err := options[i].set(j, value); err != nil {
		return &OptionError{Job: j.Name, Option: name, Value: value, Want: err.Error()}
	}
	return nil
}

func optionNames() string {
	var names []string
	for _, o := range options {
		names = append(names, o.name)
	}
	return strings.Join(names, ", ")
}

func patternNames() string {
	var names []string
	for _, p := range patterns {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

func setRW(j *Job, value string) error {
	for _, p := range patterns {
		if p.name == value {
			j.RW = p.rw
			return nil
		}
	}
	return errors.New("want one of " + patternNames())
}

// size reads a number of bytes that blocks may have.
func size(text string) (uint32, error) {
	var s bytesize.Size
	if s.Set(text) != nil || s < 512 || s > maxBlock || s%512 != 0 {
		return 0, fmt.Errorf("want sizes from 512 to %s that are multiples of 512, such as 4k", bytesize.Format(maxBlock))
	}
	return uint32(s), nil
}

func setBlock(j *Job, value string) error {
	n, err := size(value)
	if err == nil {
		j.Blocks, j.Smallest, j.Largest = []Share{{n, 100}}, 0, 0
	}
	return err
}

func setRange(j *Job, value string) error {
	from, to, ok := strings.Cut(value, "-")
	if !ok {
		return errors.New("want a smallest and a largest size, such as 4k-64k")
	}
	least, err := size(from)
	if err != nil {
		return err
	}
	most, err := size(to)
	if err != nil {
		return err
	}
	if least > most || most%least != 0 {
		return errors.New("want the smaller size first, and the larger one a multiple of it")
	}
	j.Smallest, j.Largest, j.Blocks = least, most, nil
	return nil
}

func setSplit(j *Job, value string) error {
	var all []Share
	total := 0
	for part := range strings.SplitSeq(value, ":") {
		text, percent, ok := strings.Cut(part, "/")
		if !ok {
			return errors.New("want sizes with percentages, such as 4k/60:64k/40")
		}
		n, err := size(text)
		if err != nil {
			return err
		}
		p, err := strconv.Atoi(percent)
		if err != nil || p < 1 || p > 100 {
			return errors.New("want percentages from 1 to 100")
		}
		all = append(all, Share{n, p})
		total += p
	}
	if total != 100 {
		return fmt.Errorf("want percentages that add up to 100, not %d", total)
	}
	j.Blocks, j.Smallest, j.Largest = all, 0, 0
	return nil
}

func setUnits(j *Job, value string) error {
	var all []int
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == ':' }) {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 1<<20 {
			return errors.New("want numbers of units from 0 on, such as 0,2,3")
		}
		if slices.Contains(all, n) {
			return fmt.Errorf("want each unit once, not %d again", n)
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return errors.New("want numbers of units from 0 on, such as 0,2,3")
	}
	j.Units = all
	return nil
}

func setVerify(j *Job, value string) error {
	kinds := map[string]Verify{"none": VerifyNone, "0": VerifyNone, "crc32c": VerifyCRC32C, "pattern": VerifyPattern}
	v, ok := kinds[value]
	if !ok {
		return errors.New("want none, crc32c or pattern")
	}
	j.Verify = v
	return nil
}

func setPattern(j *Job, value string) error {
	var p []byte
	if digits, ok := strings.CutPrefix(value, "0x"); ok {
		if len(digits)%2 == 1 {
			digits = "0" + digits
		}
		p, _ = hex.DecodeString(digits)
	} else if text, ok := strings.CutPrefix(value, `"`); ok {
		text, _ = strings.CutSuffix(text, `"`)
		p = []byte(text)
	}
	if len(p) == 0 || len(p) > 512 {
		return errors.New(`want 1 to 512 bytes, such as 0xdeadbeef or "text"`)
	}
	j.Pattern = p
	return nil
}

func setPercentiles(j *Job, value string) error {
	var all []float64
	for part := range strings.SplitSeq(value, ":") {
		p, err := strconv.ParseFloat(part, 64)
		if err != nil || !(p > 0 && p <= 100) || len(all) == 20 {
			return errors.New("want up to 20 numbers above 0, up to 100, such as 50:99:99.9")
		}
		all = append(all, p)
	}
	slices.Sort(all)
	j.Percentiles = slices.Compact(all)
	return nil
}

func flag(field func(*Job) *bool) func(*Job, string) error {
	return func(j *Job, value string) error {
		switch value {
		case "1", "":
			*field(j) = true
		case "0":
			*field(j) = false
		default:
			return errors.New("want 0 or 1")
		}
		return nil
	}
}

func number(least, most int, field func(*Job) *int) func(*Job, string) error {
	return func(j *Job, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return fmt.Errorf("want %d to %d", least, most)
		}
		*field(j) = n
		return nil
	}
}

func count(field func(*Job) *uint64) func(*Job, string) error {
	return func(j *Job, value string) error {
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil {
			return fmt.Errorf("want 0 to %d", uint64(1)<<62-1)
		}
		*field(j) = n
		return nil
	}
}

func sizeOf(field func(*Job) *uint64) func(*Job, string) error {
	return func(j *Job, value string) error {
		var n bytesize.Size
		if value != "0" {
			if err := n.Set(value); err != nil {
				return err
			}
		}
		*field(j) = uint64(n)
		return nil
	}
}

// duration reads a time, whose unit is given or the one that fio takes the option in.
func duration(unit time.Duration, field func(*Job) *time.Duration) func(*Job, string) error {
	return func(j *Job, value string) error {
		end := strings.IndexFunc(value, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(value)
		}
		n, err := strconv.ParseInt(value[:end], 10, 62)
		units := map[string]time.Duration{
			"": unit, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
		}
		u, ok := units[value[end:]]
		if err != nil || !ok || n > int64(maxTime/u) {
			return fmt.Errorf("want a whole number, with us, ms, s, m, h or d (without: in %v), up to %v", unit, maxTime)
		}
		*field(j) = time.Duration(n) * u
		return nil
	}
}
