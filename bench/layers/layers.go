package layers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/benchmark/parse"

	"minisrp/bench/result"
)

// ErrNoSource says that there are no sources, or no go command.
var ErrNoSource = errors.New("benchmarks of packages need the go command, and the current directory in the source tree")

// Root returns the directory of a module at dir or above it. Errors: ErrNoSource.
func Root(dir, module string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", ErrNoSource
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && slices.Contains(strings.Split(string(b), "\n"), "module "+module) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ErrNoSource
		}
		dir = parent
	}
}

// Packages returns the directories below root whose tests have benchmarks, but for those below skip, as ./DIR.
func Packages(root, skip string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path) // cannot fail: path is below root
		name := d.Name()
		switch {
		case d.IsDir() && path != root && (rel == skip || name == "testdata" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		if dir := "./" + filepath.ToSlash(filepath.Dir(rel)); bytes.Contains(b, []byte("\nfunc Benchmark")) && !slices.Contains(all, dir) {
			all = append(all, dir)
		}
		return err
	})
	return all, err
}

// Run runs the benchmarks of packages, each for about as long as go test's -benchtime says.
func Run(ctx context.Context, root, benchtime string, packages []string) ([]result.Layer, error) {
	args := append([]string{"test", "-run", "^$", "-bench", ".", "-benchmem", "-short", "-p", "1", "-benchtime", benchtime}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	var says bytes.Buffer
	cmd.Stderr = &says
	out, err := cmd.Output()
	layers := read(out)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return layers, fmt.Errorf("go test -bench: %w\n%s%s", err, says.Bytes(), tail(out))
	}
	return layers, nil
}

// read reads what go test prints.
func read(out []byte) []result.Layer {
	var all []result.Layer
	pkg := ""
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if p, ok := strings.CutPrefix(lines.Text(), "pkg: "); ok {
			pkg = p
			continue
		}
		b, err := parse.ParseLine(lines.Text())
		if err != nil {
			continue // not a line of a benchmark
		}
		all = append(all, result.Layer{
			Package: pkg, Name: b.Name, N: b.N, NsPerOp: b.NsPerOp, MBPerS: b.MBPerS, AllocsPer: b.AllocsPerOp, BytesPer: b.AllocedBytesPerOp,
		})
	}
	return all
}

// tail returns the end of an output, for an error.
func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }
