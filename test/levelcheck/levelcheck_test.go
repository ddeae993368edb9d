package levelcheck_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"minisrp/test/levelcheck"
	"minisrp/test/need"
)

// TestRules checks the packages in testdata: that what is wanted on their lines is said there, and nothing else.
func TestRules(t *testing.T) {
	analysistest.Run(t, testdata(t), levelcheck.New(nil),
		"./raise", "./passive", "./blocks/...", "./dynamic", "./convert/...", "./channel", "./lock", "./sleep",
		"./gostmt", "./deferred", "./loop", "./pool", "./std", "./mark", "./allow", "./panics",
		"./flows", "./fool", "./routes/...")
}

// TestNoAlloc checks the packages whose rules need the compiler's report.
func TestNoAlloc(t *testing.T) {
	heap, err := levelcheck.ReadHeap(testdata(t), []string{"./noalloc/..."})
	if err != nil {
		t.Fatal(err)
	}
	analysistest.Run(t, testdata(t), levelcheck.New(heap), "./noalloc/...")
}

// TestCgo stands apart because its package is compiled only with cgo.
func TestCgo(t *testing.T) {
	if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
		need.Absent(t, fmt.Sprintf("a C compiler (package gcc; CGO_ENABLED=%s, %v)", bytes.TrimSpace(out), err))
	}
	analysistest.Run(t, testdata(t), levelcheck.New(nil), "./cgo", "./routes/cgo")
}

func testdata(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}
