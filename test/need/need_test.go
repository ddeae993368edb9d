package need_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"minisrp/test/need"
)

// A record is a test that keeps how it ended.
type record struct {
	testing.TB
	ended string
}

func (r *record) Helper() {}

func (r *record) Fatalf(format string, args ...any) {
	r.ended = "failed: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *record) Skipf(format string, args ...any) {
	r.ended = "skipped: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// ends returns how a test ends that needs something.
func ends(t *testing.T, test func(testing.TB)) string {
	r := &record{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	return r.ended
}

func TestAbsentTool(t *testing.T) {
	for _, c := range []struct{ ci, want string }{{"", "skipped: "}, {"true", "failed: "}} {
		t.Setenv("CI", c.ci)
		if how := ends(t, func(tb testing.TB) { need.Tool(tb, "no-such-tool") }); !strings.HasPrefix(how, c.want+"no-such-tool") {
			t.Errorf("CI=%s: %s", c.ci, how)
		}
		if how := ends(t, func(tb testing.TB) { need.Tool(tb, "sh") }); how != "" {
			t.Errorf("CI=%s: with sh: %s", c.ci, how)
		}
	}
}

// Without what it takes a test fails in CI; what it takes may be refused to it, there too.
func TestRefusal(t *testing.T) {
	t.Setenv("CI", "true")
	for _, test := range []func(testing.TB){
		func(tb testing.TB) { need.Trace(tb) },
		func(tb testing.TB) { need.MountNamespace(tb) },
	} {
		if how := ends(t, test); how != "" && !strings.HasPrefix(how, "skipped: this kernel or container ") {
			t.Error(how)
		}
	}
}

// A mount in the namespace is not seen outside of it.
func TestMountNamespace(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(need.Tool(t, "sh"), "-c", `mount -t tmpfs tmpfs "$0" && touch "$0/inside" && stat -f -c %T "$0"`, dir)
	cmd.SysProcAttr = need.MountNamespace(t)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "tmpfs\n" {
		t.Errorf("in the namespace: %v: %s", err, out)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("outside of it: %v, %v", names, err)
	}
}
