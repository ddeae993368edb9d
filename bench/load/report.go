package load

import (
	"fmt"
	"io"
	"strings"
	"time"

	"minisrp/cmd/bytesize"
)

// Version is the format of reports. It changes when a field changes its meaning or goes away.
const Version = 1

// Report says what jobs have done. Its JSON has fio's names where it says what fio says.
type Report struct {
	Version int         `json:"version"`
	Time    int64       `json:"timestamp"` // Unix time of the start
	Jobs    []JobReport `json:"jobs"`
	CPU     CPU         `json:"cpu"`
}

// CPU is what the process has used while jobs ran, also in ramp_time and for verification.
type CPU struct {
	Elapsed    float64 `json:"elapsed_s"`
	User       float64 `json:"usr_cpu"` // percent of one processor
	System     float64 `json:"sys_cpu"`
	PerRequest float64 `json:"ns_per_request"` // without requests that ramp_time did not count; 0 without any

	used     time.Duration
	requests uint64
}

// JobReport is one job, its clones together.
type JobReport struct {
	Name   string    `json:"jobname"`
	Error  int       `json:"error"` // 1 if something failed
	Failed uint64    `json:"total_err"`
	Faults []string  `json:"faults,omitempty"` // the first of them
	Read   Counts    `json:"read"`
	Write  Counts    `json:"write"`
	Trim   Counts    `json:"trim"`
	Sync   Counts    `json:"sync"`
	Verify Counts    `json:"verify"` // reads at the end, of what was written
	List   []float64 `json:"-"`      // the percentiles that are told

	faults []Fault
}

// Counts are the requests of a direction.
type Counts struct {
	Bytes     uint64  `json:"io_bytes"`
	KBytes    uint64  `json:"io_kbytes"`
	BandBytes uint64  `json:"bw_bytes"` // a second
	Band      uint64  `json:"bw"`       // KiB a second
	IOPS      float64 `json:"iops"`
	Runtime   uint64  `json:"runtime"` // ms
	IOs       uint64  `json:"total_ios"`
	Latency   Latency `json:"clat_ns"`
}

// Latency is from submission to completion, in ns.
type Latency struct {
	Min        int64            `json:"min"`
	Max        int64            `json:"max"`
	Mean       float64          `json:"mean"`
	Deviation  float64          `json:"stddev"`
	Count      int64            `json:"N"`
	Percentile map[string]int64 `json:"percentile,omitempty"`
}

// Err says that requests of a job failed, or that blocks were not what had been written; nil if none did.
func (r *Report) Err() error {
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.Failed > 0 {
			return fmt.Errorf("job %s: %d requests or blocks were wrong; the first: %s", j.Name, j.Failed, j.Faults[0])
		}
	}
	return nil
}

// Found returns the first faults of a job.
func (j *JobReport) Found() []Fault { return j.faults }

// Requests returns how many requests a job has made, flushes and verification too.
func (j *JobReport) Requests() uint64 {
	return j.Read.IOs + j.Write.IOs + j.Trim.IOs + j.Sync.IOs + j.Verify.IOs
}

// add adds a job that has ended.
func (r *Report) add(j *Job, clones []*worker) {
	all := clones[0].stats.kinds
	job := JobReport{Name: j.Name, List: j.Percentiles}
	var took, checked time.Duration
	for i, w := range clones {
		if i > 0 {
			for k := range all {
				all[k].merge(&w.stats.kinds[k])
			}
		}
		took, checked = max(took, w.stats.ended-w.begun), max(checked, w.stats.verified-w.stats.ended)
		job.Failed += w.bad
		for _, f := range w.faults {
			if len(job.faults) < keptFaults {
				job.faults = append(job.faults, f)
				job.Faults = append(job.Faults, f.String())
			}
		}
	}
	if job.Failed > 0 {
		job.Error = 1
	}
	for i, c := range []*Counts{&job.Read, &job.Write, &job.Trim, &job.Sync} {
		*c = all[i].counts(took, j.Percentiles)
	}
	job.Verify = all[verifies].counts(checked, j.Percentiles)
	r.Jobs = append(r.Jobs, job)
	r.CPU.requests += job.Requests()
}

// counts tells of a kind of requests that were made within some time.
func (k *kind) counts(took time.Duration, percentiles []float64) Counts {
	c := Counts{Bytes: k.bytes, KBytes: k.bytes >> 10, IOs: k.ios}
	if k.ios == 0 {
		return c
	}
	c.Runtime = uint64(took.Milliseconds())
	if took > 0 {
		c.IOPS = float64(k.ios) / took.Seconds()
		c.BandBytes = uint64(float64(k.bytes) / took.Seconds())
		c.Band = c.BandBytes >> 10
	}
	h := k.latency
	c.Latency = Latency{Min: h.Min(), Max: h.Max(), Mean: h.Mean(), Deviation: h.StdDev(), Count: h.TotalCount(), Percentile: make(map[string]int64)}
	for i, v := range h.ValueAtPercentilesSlice(percentiles) {
		c.Latency.Percentile[fmt.Sprintf("%.6f", percentiles[i])] = v
	}
	return c
}

// count adds what was used.
func (r *Report) count(elapsed time.Duration, u usage) {
	c := &r.CPU
	c.used += u.user + u.system
	before := c.Elapsed
	c.Elapsed += elapsed.Seconds()
	if c.Elapsed > 0 {
		c.User = (c.User*before + 100*u.user.Seconds()) / c.Elapsed
		c.System = (c.System*before + 100*u.system.Seconds()) / c.Elapsed
	}
	if c.requests > 0 {
		c.PerRequest = float64(c.used) / float64(c.requests)
	}
}

// Print writes the report for people.
func (r *Report) Print(out io.Writer) error {
	var b strings.Builder
	for i := range r.Jobs {
		j := &r.Jobs[i]
		fmt.Fprintf(&b, "%s:\n", j.Name)
		for _, d := range []struct {
			name string
			c    *Counts
		}{{"read", &j.Read}, {"write", &j.Write}, {"trim", &j.Trim}, {"sync", &j.Sync}, {"verify", &j.Verify}} {
			if d.c.IOs > 0 {
				d.c.print(&b, d.name, j.List)
			}
		}
		for _, f := range j.Faults {
			fmt.Fprintf(&b, "  wrong: %s\n", f)
		}
		if more := j.Failed - uint64(len(j.Faults)); more > 0 {
			fmt.Fprintf(&b, "  wrong: %d more\n", more)
		}
	}
	fmt.Fprintf(&b, "cpu: usr %.1f%%, sys %.1f%%, %.2f us a request\n", r.CPU.User, r.CPU.System, r.CPU.PerRequest/1e3)
	_, err := io.WriteString(out, b.String())
	return err
}

func (c *Counts) print(b *strings.Builder, name string, list []float64) {
	l := &c.Latency
	fmt.Fprintf(b, "  %s: IOPS %.0f, %.1f MiB/s, %d requests, %s in %d ms\n", name, c.IOPS, float64(c.BandBytes)/(1<<20), c.IOs, bytesize.Format(c.Bytes), c.Runtime)
	fmt.Fprintf(b, "    clat (us): min %.2f, avg %.2f, max %.2f, stdev %.2f\n", float64(l.Min)/1e3, l.Mean/1e3, float64(l.Max)/1e3, l.Deviation/1e3)
	b.WriteString("    percentiles (us):")
	for i, p := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, " %g%% %.2f", p, float64(l.Percentile[fmt.Sprintf("%.6f", p)])/1e3)
	}
	b.WriteByte('\n')
}
