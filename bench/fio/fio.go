package fio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"minisrp/bench/result"
)

// Job is a load.
type Job struct {
	URI string // of the export
	result.Load
	Span     uint64        // bytes from the start of the export; 0: all of it
	Duration time.Duration // 0: until all of that was gone over once
}

// percentiles are those that are asked for.
const percentiles = "1:5:10:25:50:75:90:95:99:99.5:99.9:99.95:99.99"

// Args returns the command, whose output will be in a file.
func (j Job) Args(output string) []string {
	args := []string{
		"fio", "--name=bench", "--thread", "--ioengine=nbd", "--uri=" + j.URI, "--rw=" + j.Mode,
		"--bs=" + strconv.FormatUint(uint64(j.Block), 10), "--iodepth=" + strconv.Itoa(j.Depth),
		"--norandommap", "--randrepeat=0", "--percentile_list=" + percentiles, "--eta=never",
	}
	if j.Duration > 0 {
		args = append(args, "--time_based", fmt.Sprintf("--runtime=%dms", j.Duration.Milliseconds()))
	}
	if j.Span > 0 {
		args = append(args, "--size="+strconv.FormatUint(j.Span, 10))
	}
	if j.Fsync > 0 {
		args = append(args, "--fsync="+strconv.Itoa(j.Fsync))
	}
	return append(args, "--output-format=json", "--output="+output)
}

// String returns the command for a report.
func (j Job) String() string { return strings.Join(j.Args("FILE"), " ") }

// slack is how much longer than its duration a job may take.
const slack = 60 * time.Second

// Run runs fio until the job is done. Errors: fio's.
func Run(ctx context.Context, j Job) (result.Sample, error) {
	dir, err := os.MkdirTemp("", "bench-fio")
	if err != nil {
		return result.Sample{}, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeoutCause(ctx, j.Duration+slack, fmt.Errorf("fio has not ended %v after its time", slack))
	defer cancel()
	output := filepath.Join(dir, "out.json")
	args := j.Args(output)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir // for what fio leaves behind
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return result.Sample{}, fmt.Errorf("fio: %w\n%s", err, strings.TrimSpace(said.String()))
	}
	b, err := os.ReadFile(output)
	if err != nil {
		return result.Sample{}, err
	}
	s, err := parse(b)
	if err != nil {
		return s, err
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.ClientCPU = float64(used.Nanoseconds()) / 1e3 / float64(s.IOs)
	return s, nil
}

// direction is what fio says of reads, or of writes.
type direction struct {
	IOPS    float64        `json:"iops"`
	Bytes   float64        `json:"bw_bytes"`
	IOs     uint64         `json:"total_ios"`
	Runtime float64        `json:"runtime"` // ms
	Latency result.Latency `json:"clat_ns"`
}

// parse reads the output for one job. What the engine says of its connection may stand before it.
func parse(b []byte) (result.Sample, error) {
	b = b[max(0, bytes.IndexByte(b, '{')):]
	var out struct {
		Jobs []struct {
			Error       int `json:"error"`
			Read, Write direction
		} `json:"jobs"`
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return result.Sample{}, fmt.Errorf("fio's output: %w", err)
	}
	if len(out.Jobs) != 1 {
		return result.Sample{}, fmt.Errorf("fio's output: %d jobs, want 1", len(out.Jobs))
	}
	j := out.Jobs[0]
	if j.Error != 0 {
		return result.Sample{}, fmt.Errorf("fio's job ended with error %d", j.Error)
	}
	d := j.Read
	if j.Write.IOs > 0 {
		d = j.Write
	}
	if d.IOs == 0 {
		return result.Sample{}, errors.New("fio's job has completed no request")
	}
	return result.Sample{IOPS: d.IOPS, Bytes: d.Bytes, IOs: d.IOs, Runtime: d.Runtime / 1000, Latency: d.Latency}, nil
}
