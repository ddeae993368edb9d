package iscsi

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"minisrp/bench/result"
)

// Job is a load of random reads.
type Job struct {
	URI      string // iscsi://ADDRESS:PORT/NAME/LUN
	Block    uint32 // bytes a request, a multiple of 512
	Depth    int    // requests under way
	Duration time.Duration
}

// Args returns the command. iscsi-perf knows whole seconds only.
func (j Job) Args() []string {
	return []string{
		"iscsi-perf", "-r", "-m", strconv.Itoa(j.Depth), "-b", strconv.FormatUint(uint64(j.Block/512), 10),
		"-t", strconv.Itoa(j.seconds()), j.URI,
	}
}

func (j Job) seconds() int { return int((j.Duration + time.Second - 1) / time.Second) }

// String returns the command for a report.
func (j Job) String() string { return strings.Join(j.Args(), " ") }

// slack is how much longer than its duration a job may take.
const slack = 60 * time.Second

// Run runs iscsi-perf until the job is done.
func Run(ctx context.Context, j Job) (result.Sample, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, j.Duration+slack, fmt.Errorf("iscsi-perf has not ended %v after its time", slack))
	defer cancel()
	args := j.Args()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return result.Sample{}, fmt.Errorf("iscsi-perf: %w\n%s", err, out)
	}
	s, err := parse(out, j)
	if err != nil {
		return s, err
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.ClientCPU = float64(used.Nanoseconds()) / 1e3 / float64(s.IOs)
	return s, nil
}

// average is the last of them; what is printed on the way ends in a carriage return.
var average = regexp.MustCompile(`iops average (\d+) `)

// parse reads what iscsi-perf has printed.
func parse(out []byte, j Job) (result.Sample, error) {
	all := average.FindAllSubmatch(out, -1)
	if all == nil {
		return result.Sample{}, fmt.Errorf("iscsi-perf tells no average:\n%s", out)
	}
	last := string(all[len(all)-1][1])
	iops, err := strconv.ParseFloat(last, 64)
	if err != nil || iops == 0 {
		return result.Sample{}, fmt.Errorf("iscsi-perf's average %q: want a number above 0", last)
	}
	seconds := float64(j.seconds())
	return result.Sample{IOPS: iops, Bytes: iops * float64(j.Block), IOs: uint64(iops * seconds), Runtime: seconds}, nil
}
