package durable

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Violation is a range of the device that holds what it cannot.
type Violation struct {
	Round          int
	Offset, Length uint64   // bytes
	Found          string   // in the first block
	Possible       []string // versions of the first block, the durable one first
	Running        bool     // found while the server ran, not after a kill
}

func (v *Violation) String() string {
	when := "after the kill"
	if v.Running {
		when = "while the server ran"
	}
	return fmt.Sprintf("round %d, %s: %d bytes at offset %d hold %s; possible: %s",
		v.Round, when, v.Length, v.Offset, v.Found, strings.Join(v.Possible, ", "))
}

// shownViolations is how many violations are kept.
const shownViolations = 20

// Report is what a run has found. It proves something only when Hardened is well above 0.
type Report struct {
	Seed   uint64
	Rounds int

	Requests map[string]int // answered, by what they were
	Written  uint64         // bytes, answered
	FUA      int            // writes, and writes of zeros, that became durable by FUA
	Hardened int            // those that a flush made durable
	InFlight int            // requests under way at the kills
	// StartKills is how often the server was killed while it was starting. StartUp is how long it took until connected.
	StartKills int
	StartUp    []time.Duration

	Checked       uint64 // blocks compared after kills
	Unanswered    uint64 // blocks that held a write that was never answered, which is allowed
	Forgotten     uint64 // blocks without a later write that was answered but not durable, which is allowed
	ReadsVerified int    // reads while the server ran

	Violations []Violation // the first ones; adjacent blocks are one
	Blocks     uint64      // that were in violation, in all
}

func (r *Report) violation(v *Violation) {
	r.Blocks++
	if n := len(r.Violations); n > 0 {
		last := &r.Violations[n-1]
		if last.Offset+last.Length == v.Offset && last.Round == v.Round && last.Running == v.Running {
			last.Length += v.Length
			return
		}
	}
	if len(r.Violations) < shownViolations {
		r.Violations = append(r.Violations, *v)
	}
}

// OK reports whether nothing was lost.
func (r *Report) OK() bool { return r.Blocks == 0 }

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "seed %d: %d rounds, each ended by a kill; %d more kills while starting\n", r.Seed, r.Rounds, r.StartKills)
	var counts []string
	for name, n := range r.Requests {
		counts = append(counts, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(counts)
	fmt.Fprintf(w, "answered: %s; %d MiB written; %d in flight at the kills\n", strings.Join(counts, ", "), r.Written>>20, r.InFlight)
	fmt.Fprintf(w, "durable by FUA: %d requests; by a flush: %d; reads verified: %d\n", r.FUA, r.Hardened, r.ReadsVerified)
	fmt.Fprintf(w, "blocks of %d bytes compared after kills: %d; with an unanswered write: %d; without an answered, not durable one: %d\n",
		blockSize, r.Checked, r.Unanswered, r.Forgotten)
	if n := len(r.StartUp); n > 0 {
		sorted := slices.Sorted(slices.Values(r.StartUp))
		fmt.Fprintf(w, "start to connected: median %v, longest %v\n", sorted[n/2].Round(time.Millisecond), sorted[n-1].Round(time.Millisecond))
	}
	if r.OK() {
		fmt.Fprintln(w, "nothing that was durable is lost")
		return
	}
	fmt.Fprintf(w, "LOST OR WRONG: %d blocks\n", r.Blocks)
	for i := range r.Violations {
		fmt.Fprintf(w, "  %v\n", &r.Violations[i])
	}
}
