package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"minisrp/bench/layers"
	"minisrp/bench/result"
	"minisrp/bench/scale"
	"minisrp/bench/suite"
)

// addLayers runs the benchmarks of packages. What fails is said, and does not end the run.
func addLayers(ctx context.Context, r *result.Result, progress io.Writer) {
	root, err := layers.Root(".", "minisrp")
	if err == nil {
		fmt.Fprintln(progress, "benchmarks of packages")
		var packages []string
		if packages, err = layers.Packages(root, "bench"); err == nil {
			r.Layers, err = layers.Run(ctx, root, "50ms", packages)
		}
	}
	if err != nil {
		fmt.Fprintf(progress, "benchmarks of packages: %v\n", err)
	}
}

// addScale measures what targets and units cost.
func addScale(ctx context.Context, r *result.Result, progress io.Writer) {
	fmt.Fprintln(progress, "what targets and units cost")
	m, err := scale.Measure(ctx, scale.Config{})
	if err != nil {
		fmt.Fprintf(progress, "what targets and units cost: %v\n", err)
		return
	}
	fmt.Fprintln(progress)
	_ = m.Print(progress)
	r.Curves = append(r.Curves, suite.ScaleCurves(m)...)
}

// profileTime is how long is looked at where the time goes.
const profileTime = 2 * time.Second

// addProfiles looks at where the time goes in what missed its figures.
func addProfiles(ctx context.Context, s *suite.Suite, r *result.Result, progress io.Writer) {
	for _, f := range s.Figures(r.Groups) {
		if f.Verdict() != result.Missed {
			continue
		}
		fmt.Fprintf(progress, "%s was missed: profile\n", f.Name)
		p, err := s.Profile(ctx, f.Name, profileTime)
		if err != nil {
			p = result.Profile{Figure: f.Name, Top: err.Error()}
		}
		r.Profiles = append(r.Profiles, p)
	}
}
