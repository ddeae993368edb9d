package load_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"minisrp/bench/load"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		option, value string
		want          func(j *load.Job)
	}{
		{"rw", "randrw", func(j *load.Job) { j.RW = load.RW{Read: true, Write: true, Random: true} }},
		{"readwrite", "readwrite", func(j *load.Job) { j.RW = load.RW{Read: true, Write: true} }},
		{"rw", "trim", func(j *load.Job) { j.RW = load.RW{Trim: true} }},
		{"bs", "64k", func(j *load.Job) { j.Blocks = []load.Share{{Size: 65536, Percent: 100}} }},
		{"bsrange", "4k-64k", func(j *load.Job) { j.Smallest, j.Largest = 4096, 65536 }},
		{"bssplit", "4k/60:64k/40", func(j *load.Job) { j.Blocks = []load.Share{{Size: 4096, Percent: 60}, {Size: 65536, Percent: 40}} }},
		{"iodepth", "32", func(j *load.Job) { j.Depth = 32 }},
		{"unit", "0,2", func(j *load.Job) { j.Units = []int{0, 2} }},
		{"filename", "3:1", func(j *load.Job) { j.Units = []int{3, 1} }},
		{"size", "1G", func(j *load.Job) { j.Size = 1 << 30 }},
		{"offset", "0", func(j *load.Job) {}},
		{"runtime", "5", func(j *load.Job) { j.Runtime = 5 * time.Second }},
		{"runtime", "200ms", func(j *load.Job) { j.Runtime = 200 * time.Millisecond }},
		{"thinktime", "50", func(j *load.Job) { j.Think = 50 * time.Microsecond }},
		{"time_based", "", func(j *load.Job) { j.TimeBase = true }},
		{"verify", "crc32c", func(j *load.Job) { j.Verify = load.VerifyCRC32C }},
		{"verify_pattern", "0xabc", func(j *load.Job) { j.Pattern = []byte{0x0a, 0xbc} }},
		{"verify_pattern", `"text"`, func(j *load.Job) { j.Pattern = []byte("text") }},
		{"percentile_list", "99.9:50:50", func(j *load.Job) { j.Percentiles = []float64{50, 99.9} }},
		{"rate", "1M", func(j *load.Job) { j.Rate = 1 << 20 }},
		{"number_ios", "7", func(j *load.Job) { j.Number = 7 }},
	} {
		got, want := load.NewJob("j"), load.NewJob("j")
		c.want(&want)
		if err := got.Set(c.option, c.value); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s=%s: %+v, %v", c.option, c.value, got, err)
		}
	}
}

// What is wrong is refused, with what would be right.
func TestOptionsThatAreWrong(t *testing.T) {
	for _, c := range []struct{ option, value, want string }{
		{"rw", "both", "randread"}, {"rw", "", "randread"},
		{"bs", "", "4k"}, {"bs", "100", "512"}, {"bs", "1G", "16M"}, {"bs", "4k,8k", "512"}, {"bs", "-4k", "512"},
		{"bsrange", "4k", "4k-64k"}, {"bsrange", "64k-4k", "smaller size first"}, {"bsrange", "4k-10k", "multiple"}, {"bsrange", "4k-", "512"},
		{"bssplit", "4k", "4k/60"}, {"bssplit", "4k/50", "not 50"}, {"bssplit", "4k/101", "100"}, {"bssplit", "4k/60:x/40", "512"},
		{"bssplit", "4k/60:64k/-40", "1 to 100"},
		{"iodepth", "0", "1 to 4096"}, {"iodepth", "5000", "1 to 4096"}, {"iodepth", "many", "1 to 4096"},
		{"numjobs", "0", "1 to 256"}, {"rwmixread", "101", "0 to 100"}, {"fsync", "-1", "0 to"},
		{"unit", "", "0,2,3"}, {"unit", "-1", "0,2,3"}, {"unit", "1,1", "once"}, {"unit", "sda", "0,2,3"},
		{"size", "many", "number of bytes"}, {"size", "-1", "number of bytes"}, {"rate", "1.5M", "number of bytes"},
		{"number_ios", "-1", "0 to"}, {"number_ios", "99999999999999999999", "0 to"}, {"randseed", "x", "0 to"},
		{"runtime", "", "whole number"}, {"runtime", "5y", "whole number"}, {"runtime", "9999999999", "up to"}, {"ramp_time", "-1", "whole number"},
		{"thinktime", "1.5", "whole number"},
		{"time_based", "yes", "0 or 1"}, {"sync", "2", "0 or 1"},
		{"verify", "md5", "crc32c"}, {"verify_pattern", "deadbeef", "0xdeadbeef"}, {"verify_pattern", "0xgg", "0xdeadbeef"}, {"verify_pattern", `""`, "1 to 512"},
		{"percentile_list", "0", "above 0"}, {"percentile_list", "50:101", "up to 100"}, {"percentile_list", "NaN", "above 0"},
		{"direct", "1", "no such option; there are bs,"},
	} {
		j := load.NewJob("j")
		err := j.Set(c.option, c.value)
		var e *load.OptionError
		if !errors.As(err, &e) || e.Option != c.option || e.Value != c.value || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %q in it", c.option, c.value, err, c.want)
		}
		if !reflect.DeepEqual(j, load.NewJob("j")) {
			t.Errorf("%s=%s has changed the job: %+v", c.option, c.value, j)
		}
	}
}

func TestParseFile(t *testing.T) {
	jobs, err := load.ParseFile("f", `
; a comment
[global]
bs = 8k
iodepth=4

[first]
rw=randread
[second]
rw=write
bs=64k
stonewall
`)
	if err != nil || len(jobs) != 2 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	if j := jobs[0]; j.Name != "first" || j.Blocks[0].Size != 8192 || j.Depth != 4 || j.RW.String() != "randread" || j.Stonewall {
		t.Errorf("%+v", j)
	}
	if j := jobs[1]; j.Name != "second" || j.Blocks[0].Size != 65536 || j.Depth != 4 || j.RW.String() != "write" || !j.Stonewall {
		t.Errorf("%+v", j)
	}
}

// Errors name the file, the line, the option, the value and what would be right.
func TestParseFileErrors(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                   {"f:1:", "[job]"},
		"rw=read":                            {`f:1: "rw=read"`, "section"},
		"[a":                                 {`f:1: "[a"`, "brackets"},
		"[]":                                 {`f:1: "[]"`, "brackets"},
		"[a]\nrw=read\niodepth=x\nbs=1":      {"f:3: job a: iodepth=x: want 1 to", "f:4: job a: bs=1: want"},
		"[global]\ndirect=1\n[a]\nrw=read":   {"f:2: direct=1: no such option"},
		"[a]\nrw=read\n[b]\nbs=4k":           {"f:3: job b: rw=: want one of read"},
		"[a]\nrw=read\ntime_based":           {"f:1: job a: time_based=1: want runtime"},
		"[a]\nrw=read\nverify=crc32c":        {"verify=read: want an rw that writes"},
		"[a]\nrw=write\nverify=pattern":      {"want verify_pattern"},
		"[a]\nrw=write\nverify_pattern=0x01": {"want verify=pattern"},
		"[a]\nrw=write\nverify=crc32c\nnumjobs=2\nsize=1M\noffset_increment=512k": {"numjobs=2: want size, and offset_increment"},
	} {
		jobs, err := load.ParseFile("f", text)
		if err == nil {
			t.Errorf("%q: %+v", text, jobs)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v; want %q in it", text, err, w)
			}
		}
	}
}

// Nothing makes the parser panic, and what it takes it takes again when it is written out in other words.
func FuzzParseFile(f *testing.F) {
	f.Add("[global]\nbs=4k\n[a]\nrw=randrw\nrwmixread=70\nverify=crc32c\nverify_pattern=0xdeadbeef\n")
	f.Add("[a]\nrw=write\nbssplit=4k/60:64k/40\nfsync=32\nsync=1\npercentile_list=50:99.9\nunit=0,1\n")
	f.Add("[a]\nrw=trim\nbsrange=4k-64k\nruntime=5s\ntime_based\nramp_time=1\nrate=10M\nrate_iops=100\nthinktime=10us\n[b]\nrw=read\nstonewall\n")
	f.Add(";\n#\n[ a ]\nrw = read\nrandseed=1\nnorandommap\nnumber_ios=3\nsize=1M\noffset=4k\noffset_increment=1M\nnumjobs=2\ncontinue_on_error=1")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := load.ParseFile("f", text)
		var e *load.OptionError
		switch {
		case err != nil && !errors.As(err, &e):
			t.Fatalf("%v is not an OptionError", err)
		case err == nil && len(jobs) == 0:
			t.Fatal("no job and no error")
		}
		for _, j := range jobs {
			if j.RW.String() == "" || j.Depth < 1 || j.Clones < 1 || len(j.Units) == 0 || len(j.Percentiles) == 0 {
				t.Fatalf("%+v", j)
			}
		}
	})
}
