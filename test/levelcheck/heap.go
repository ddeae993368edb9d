package levelcheck

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Heap is what the compiler says goes to the heap: its escape report.
type Heap struct {
	allocations map[string][]allocation // by file, absolute
}

// An allocation is one line of the report.
type allocation struct {
	line, column int
	text         string // "make([]byte, n) escapes to heap"
}

// reportLine is a line that tells of an allocation; the report has others about what stays on the stack.
var reportLine = regexp.MustCompile(`^(\S+\.go):(\d+):(\d+): (moved to heap: .*|.* escapes to heap)$`)

// ReadHeap compiles packages, as seen from dir, and reads what the compiler reports. The go command keeps the report
// with the object code, so that it comes from the cache when nothing has changed. Inlining is off: what is said of a
// line is then about the function that stands there, and inlining only takes allocations away.
func ReadHeap(dir string, patterns []string) (*Heap, error) {
	h := &Heap{allocations: make(map[string][]allocation)}
	if len(patterns) == 0 {
		return h, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", append([]string{"build", "-gcflags=-m -l"}, patterns...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return h, h.read(dir, out)
}

func (h *Heap) read(dir string, report []byte) error {
	find := finder{dir: dir, found: make(map[string]string)}
	for lines := bufio.NewScanner(bytes.NewReader(report)); lines.Scan(); {
		m := reportLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		file, err := find.file(m[1])
		if err != nil {
			return err
		}
		if file == "" {
			continue
		}
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		a := allocation{line, column, m[4]}
		// A generic function is compiled, and reported, by each package that has an instance.
		if !slices.Contains(h.allocations[file], a) {
			h.allocations[file] = append(h.allocations[file], a)
		}
	}
	return nil
}

// finder finds the files that a report names. It names them as seen from where the compiler was run, or, when it comes
// from the cache, by the path of the package.
// The name that it finds is "" for files that are not the module's.
type finder struct {
	dir   string
	found map[string]string
}

func (f *finder) file(name string) (string, error) {
	if full, ok := f.found[name]; ok {
		return full, nil
	}
	root := f.dir
	for !exists(filepath.Join(root, "go.mod")) && root != filepath.Dir(root) {
		root = filepath.Dir(root)
	}
	full := name
	if !filepath.IsAbs(name) {
		full = filepath.Join(f.dir, name)
	}
	if !exists(full) {
		inside, ours := strings.CutPrefix(name, module+"/")
		full = filepath.Join(root, inside)
		if !ours {
			full = "" // of another module: an instance of something generic
		} else if !exists(full) {
			return "", fmt.Errorf("the compiler's report names %s, and there is no %s", name, full)
		}
	}
	f.found[name] = full
	return full, nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
