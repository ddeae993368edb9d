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

// maxExemptions is how many exemptions there may be outside packages for tests. Each is a place where the proof takes
// somebody's word.
const maxExemptions = 10

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
	heap, err := levelcheck.ReadHeap(dir, onDataPath(pkgs))
	if err != nil {
		fmt.Fprintln(stderr, "levelcheck:", err)
		return 2
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{levelcheck.New(heap)}, pkgs, nil)
	if err != nil {
		fmt.Fprintln(stderr, "levelcheck:", err)
		return 2
	}
	return summarize(graph, stdout, stderr)
}

// onDataPath names the packages whose escape report is needed: those with a mark noalloc, and what they import of the
// module.
func onDataPath(pkgs []*packages.Package) []string {
	var paths []string
	seen := make(map[*packages.Package]bool)
	var add func(p *packages.Package)
	add = func(p *packages.Package) {
		if seen[p] || p.Module == nil || !p.Module.Main {
			return
		}
		seen[p] = true
		paths = append(paths, p.PkgPath)
		for _, q := range p.Imports {
			add(q)
		}
	}
	for _, p := range pkgs {
		if slices.ContainsFunc(p.Syntax, levelcheck.HasNoAlloc) {
			add(p)
		}
	}
	slices.Sort(paths)
	return paths
}

func summarize(graph *checker.Graph, stdout, stderr io.Writer) int {
	var broken, exemptions []string
	var packages, dispatch, raised, noalloc, counted int
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
		noalloc += result.NoAlloc
		if !levelcheck.IsTestSupport(action.Package.PkgPath) {
			counted += len(result.Exemptions)
		}
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
	fmt.Fprintf(stdout, "levelcheck: %d packages, %d functions at Dispatch, %d on the data path, %d that raise, %d exemptions, %d of them outside tests, %d rules broken\n",
		packages, dispatch, noalloc, raised, len(exemptions), counted, len(broken))
	if counted > maxExemptions {
		fmt.Fprintf(stdout, "levelcheck: %d exemptions outside tests; at most %d may be: mend what they stand before\n", counted, maxExemptions)
	}
	if len(broken) > 0 || counted > maxExemptions {
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
