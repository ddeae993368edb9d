package result

import "time"

// Version is the format of what Write writes. It changes when a field changes its meaning or goes away.
const Version = 1

// Result is a run of the benchmark.
type Result struct {
	Version  int       `json:"version"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`  // that the whole run took
	Complete bool      `json:"complete"` // false: it was interrupted, or is still under way
	Settings Settings  `json:"settings"`
	Build    Build     `json:"build"`
	Machine  Machine   `json:"machine"`
	Tools    []Tool    `json:"tools"`

	Contestants []Contestant `json:"contestants"`
	Figures     []Figure     `json:"figures"`
	Groups      []Group      `json:"groups"`
	Curves      []Curve      `json:"curves,omitempty"`
	Layers      []Layer      `json:"layers,omitempty"`
	Profiles    []Profile    `json:"profiles,omitempty"`
}

// Settings are what the run was asked for.
type Settings struct {
	Cases   string  `json:"cases,omitempty"` // regular expression; all if empty
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"` // a measurement of a client and a server
	Size    uint64  `json:"size"`    // bytes of a unit
}

// Build says what was measured.
type Build struct {
	Module   string `json:"module"` // path and version
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the tree differed from the revision
	Go       string `json:"go"`
}

// Machine says where.
type Machine struct {
	System string `json:"system"` // distribution
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	Memory uint64 `json:"memory"` // bytes
	Clock  string `json:"clock"`  // the kernel's clock source
}

// Tool is a program of others that took part.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // empty: it is absent
	Package string `json:"package,omitempty"` // of Debian
}

// Contestant is what is measured beside others.
type Contestant struct {
	Name    string `json:"name"`
	Command string `json:"command"`           // how it is started, or what it is
	Missing string `json:"missing,omitempty"` // why it did not take part
}

// Group is what was measured under one load.
type Group struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	Load   Load    `json:"load"`
	Client string  `json:"client,omitempty"` // the command that makes the load
	Rounds []Round `json:"rounds"`
}

// Load is what is asked of the contestants of a group.
type Load struct {
	Mode  string `json:"mode,omitempty"`  // fio's rw; nothing if nothing is asked
	Block uint32 `json:"block,omitempty"` // bytes a request
	Depth int    `json:"depth,omitempty"` // requests at a time
	Fsync int    `json:"fsync,omitempty"` // a flush after so many writes; 0: none
}

// Round has one sample of each contestant, taken one after the other.
type Round struct {
	Order   []string          `json:"order"` // in which they were measured
	Samples map[string]Sample `json:"samples"`
	Failed  map[string]string `json:"failed,omitempty"` // what went wrong, by contestant
}

// Curve is a quantity against another, for a plot.
type Curve struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	X      Axis   `json:"x"`
	Y      Axis   `json:"y"`
	Lines  []Line `json:"lines"`
	Remark string `json:"remark,omitempty"`
}

// Axis is what a curve is drawn over or against.
type Axis struct {
	Label string `json:"label"` // with its unit
	Log   bool   `json:"log,omitempty"`
}

// Line is a contestant's part of a curve.
type Line struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// Point is a place of a line, with the least and most that were seen there.
type Point struct {
	X   float64 `json:"x"`
	Y   float64 `json:"y"`
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// Layer is a benchmark of a package, by go test.
type Layer struct {
	Package   string  `json:"package"`
	Name      string  `json:"name"`
	N         int     `json:"n"`
	NsPerOp   float64 `json:"ns_per_op"`
	MBPerS    float64 `json:"mb_per_s,omitempty"`
	AllocsPer uint64  `json:"allocs_per_op"`
	BytesPer  uint64  `json:"bytes_per_op"`
}

// Profile says where the time went in a contestant, for a figure that was missed.
type Profile struct {
	Figure     string `json:"figure"`
	Contestant string `json:"contestant"`
	Top        string `json:"top"` // as pprof prints it
}
