package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"minisrp/test/levelcheck"
)

func main() {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "usage: levelcheck PACKAGES")
		os.Exit(2)
	}
	os.Exit(run("", os.Args[1:], os.Stdout, os.Stderr))
}

// run checks the packages that patterns name, as seen from dir, and returns the exit code.
func run(dir string, patterns []string, stdout, stderr io.Writer) int {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: dir}, patterns...)
	if err != nil {
		fmt.Fprintln(stderr, "levelcheck:", err)
		return 2
	}
	if packages.PrintErrors(pkgs) > 0 {
		return 2
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{levelcheck.Analyzer}, pkgs, nil)
	if err != nil {
		fmt.Fprintln(stderr, "levelcheck:", err)
		return 2
	}
	return summarize(graph, stdout, stderr)
}

func summarize(graph *checker.Graph, stdout, stderr io.Writer) int {
	var broken, exemptions []string
	var packages, dispatch, raised int
	for _, action := range graph.Roots {
		if action.Err != nil {
			fmt.Fprintf(stderr, "levelcheck: %s: %v\n", action.Package.PkgPath, action.Err)
			return 2
		}
		for _, d := range action.Diagnostics {
			pos := action.Package.Fset.Position(d.Pos)
			broken = append(broken, fmt.Sprintf("%s:%d:%d: %s", relative(pos.Filename), pos.Line, pos.Column, d.Message))
		}
		result := action.Result.(*levelcheck.Result)
		packages, dispatch, raised = packages+1, dispatch+result.Dispatch, raised+result.Raised
		for _, e := range result.Exemptions {
			exemptions = append(exemptions, fmt.Sprintf("%s:%d: %s: exempt from %s: %s", relative(e.Pos.Filename), e.Pos.Line, e.Function, e.Rule, e.Reason))
		}
	}
	slices.Sort(broken)
	slices.Sort(exemptions)
	for _, text := range broken {
		fmt.Fprintln(stdout, text)
	}
	for _, text := range exemptions {
		fmt.Fprintln(stdout, text)
	}
	fmt.Fprintf(stdout, "levelcheck: %d packages, %d functions at Dispatch, %d that raise, %d exemptions, %d rules broken\n",
		packages, dispatch, raised, len(exemptions), len(broken))
	if len(broken) > 0 {
		return 1
	}
	return 0
}

// relative shortens a file's name to what a reader types.
func relative(file string) string {
	dir, err := os.Getwd()
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(dir, file); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return file
}
