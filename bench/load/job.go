package load

import (
	"fmt"
	"time"
)

// RW is what a job does, and in which order of places.
type RW struct {
	Read, Write, Trim bool
	Random            bool
}

// patterns are fio's names.
var patterns = []struct {
	name string
	rw   RW
}{
	{"read", RW{Read: true}},
	{"write", RW{Write: true}},
	{"trim", RW{Trim: true}},
	{"randread", RW{Read: true, Random: true}},
	{"randwrite", RW{Write: true, Random: true}},
	{"randtrim", RW{Trim: true, Random: true}},
	{"rw", RW{Read: true, Write: true}},
	{"readwrite", RW{Read: true, Write: true}},
	{"randrw", RW{Read: true, Write: true, Random: true}},
}

// String returns fio's name; "" for the zero value.
func (p RW) String() string {
	for _, q := range patterns {
		if q.rw == p {
			return q.name
		}
	}
	return ""
}

// Share is a block size and for how many of the requests it is.
type Share struct {
	Size    uint32 // bytes
	Percent int    // 1 to 100; those of a job add up to 100
}

// Verify says how what is read is checked.
type Verify uint8

const (
	VerifyNone    Verify = iota
	VerifyCRC32C         // a header in each interval, with a checksum
	VerifyPattern        // all bytes are Job.Pattern, over and over
)

// Job is a load. The zero value of a field is its default, but for RW, which must be given.
type Job struct {
	Name        string
	RW          RW
	ReadPercent int     // of a mixed job, 0 to 100. NewJob sets 50
	Blocks      []Share // bs, bssplit. nil: blocks of 4 KiB
	Smallest    uint32  // bsrange: blocks are multiples of this up to Largest, each as often. 0: see Blocks
	Largest     uint32
	Depth       int // iodepth, requests at a time of each clone; 0 means 1
	Clones      int // numjobs; 0 means 1
	Units       []int
	Offset      uint64 // of the region, in bytes
	Increment   uint64 // offset_increment: by which a clone's region begins later than that of the one before
	Size        uint64 // of the region, in bytes; 0: up to the end of the unit

	Runtime  time.Duration // 0: until all of the region has been gone over
	TimeBase bool          // go over the region again until Runtime has passed
	Ramp     time.Duration // before anything counts
	Number   uint64        // number_ios: requests of a clone, flushes not counted; 0: no such limit
	Rate     uint64        // bytes a second of a clone; 0: no limit
	RateIOPS uint64        // requests a second of a clone
	Think    time.Duration // thinktime: from a completion to the next start

	Verify  Verify
	Pattern []byte // verify_pattern
	Seed    uint64 // randseed
	Repeat  bool   // norandommap: places may come again before all have been visited

	FlushEvery int  // fsync: a SYNCHRONIZE CACHE after so many writes; 0: none
	FUA        bool // sync: writes last when they complete
	Continue   bool // continue_on_error
	Stonewall  bool // begin when the jobs before have ended

	Percentiles []float64 // percentile_list; nil means DefaultPercentiles
}

// DefaultPercentiles are fio's.
var DefaultPercentiles = []float64{1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99}

// NewJob returns a job with the defaults.
func NewJob(name string) Job { return Job{Name: name, ReadPercent: 50} }

// Check says what of a job contradicts the rest, or is out of range. Errors: *OptionError.
func (j Job) Check() error {
	j.settle()
	return j.check()
}

// settle fills in what was left at zero.
func (j *Job) settle() {
	if j.Blocks == nil && j.Smallest == 0 {
		j.Blocks = []Share{{4096, 100}}
	}
	j.Depth, j.Clones = max(1, j.Depth), max(1, j.Clones)
	if j.Units == nil {
		j.Units = []int{0}
	}
	if j.Percentiles == nil {
		j.Percentiles = DefaultPercentiles
	}
}

// largest returns the size of the largest block.
func (j *Job) largest() uint32 {
	n := j.Largest
	for _, b := range j.Blocks {
		n = max(n, b.Size)
	}
	return n
}

// align returns what every block's size and place is a multiple of.
func (j *Job) align() uint32 {
	n := j.Smallest
	for _, b := range j.Blocks {
		n = gcd(n, b.Size)
	}
	return n
}

func gcd(a, b uint32) uint32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// check says what of a settled job contradicts the rest. Errors: *OptionError, without a place.
func (j *Job) check() error {
	bad := func(option string, value any, want string) error {
		return &OptionError{Job: j.Name, Option: option, Value: fmt.Sprint(value), Want: want}
	}
	share := 0
	for _, b := range j.Blocks {
		share += b.Percent
	}
	switch {
	case j.RW.String() == "":
		return bad("rw", "", "want one of "+patternNames())
	case j.ReadPercent < 0 || j.ReadPercent > 100:
		return bad("rwmixread", j.ReadPercent, "want 0 to 100")
	case j.Smallest == 0 && share != 100:
		return bad("bssplit", fmt.Sprintf("%d percent in all", share), "want shares that add up to 100")
	case j.largest() > maxBlock || j.align() < 512 || j.align()%512 != 0:
		return bad("bs", j.largest(), fmt.Sprintf("want sizes from 512 to %d that are multiples of 512", maxBlock))
	case j.Smallest > j.Largest || j.Smallest != 0 && j.Blocks != nil:
		return bad("bsrange", fmt.Sprintf("%d-%d", j.Smallest, j.Largest), "want the smaller size first, and no bs or bssplit beside it")
	case j.Depth > maxDepth:
		return bad("iodepth", j.Depth, fmt.Sprintf("want 1 to %d", maxDepth))
	case j.Clones > maxClones:
		return bad("numjobs", j.Clones, fmt.Sprintf("want 1 to %d", maxClones))
	case j.TimeBase && j.Runtime == 0:
		return bad("time_based", 1, "want runtime beside it")
	case j.Verify == VerifyPattern && len(j.Pattern) == 0:
		return bad("verify", "pattern", "want verify_pattern beside it")
	case j.Verify == VerifyNone && len(j.Pattern) > 0:
		return bad("verify_pattern", fmt.Sprintf("%x", j.Pattern), "want verify=pattern or verify=crc32c beside it")
	case j.Verify != VerifyNone && !j.RW.Write:
		return bad("verify", j.RW, "want an rw that writes: what is read is compared with what the job has written itself")
	case j.Verify != VerifyNone && j.Clones > 1 && (j.Size == 0 || j.Increment < j.Size):
		return bad("numjobs", j.Clones, "want size, and offset_increment of that or more, for clones that verify: they may not write to the same places")
	}
	return nil
}
