package imports

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path in go.mod.
const module = "minisrp"

// A rule says what the packages that match its pattern may import of this module. A pattern is a package, or a
// package with "/..." for it and everything below it. The first rule that matches a package is the one that
// counts, so the particular stands before the general.
type rule struct {
	pattern string
	allowed []string
}

var anything = []string{"..."}

var rules = []rule{
	{"scsi", nil},
	{"scsi/lun/...", []string{"scsi", "verbs/dispatch/...", "verbs/arena", "scsi/lun/..."}},
	{"scsi/luntest", []string{"scsi", "verbs/dispatch", "verbs/arena", "scsi/lun/..."}},
	{"scsi/disk/...", []string{"miniport/...", "scsi", "verbs/dispatch", "verbs/arena", "scsi/disk/..."}},
	{"scsi/mpath/...", []string{"miniport/...", "scsi", "verbs/dispatch", "verbs/arena", "scsi/mpath/..."}},

	{"verbs/...", []string{"verbs/..."}},

	{"srp/target/...", []string{"srp", "verbs/...", "scsi/lun/...", "scsi", "srp/target/..."}},
	{"srp", []string{"verbs/...", "scsi"}},
	{"srp/...", []string{"srp", "verbs/...", "scsi"}},

	{"miniport/...", []string{"srp", "verbs/...", "scsi", "miniport/..."}},

	{"pnp/...", []string{"verbs", "pnp/..."}},

	{"cmd/...", anything},
	{"bench/...", anything},
	{"test/...", anything},
}

// topLevel is what the root of the tree may hold, beside names that start with a dot.
var topLevel = []string{
	"go.mod", "go.sum", "README.md", "Makefile", "LICENSE",
	"cmd", "srp", "miniport", "verbs", "scsi", "pnp", "bench", "test",
}

// leftovers are endings of what the go command, fio and the README's examples leave where they are run.
var leftovers = []string{".test", ".out", ".prof", ".state", ".img", ".pcapng"}

// ignored are names at the root that version control does not hold.
func ignored(name string) bool {
	if name == "build" || strings.HasPrefix(name, ".") {
		return true
	}
	return slices.ContainsFunc(leftovers, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// pure lists what the codecs may not import from the standard library: they do no I/O, own no goroutine and read
// no clock.
var pure = map[string][]string{
	"scsi": {"os", "net", "syscall", "context", "sync", "log", "log/slog", "io/fs", "golang.org/x/sys/unix"},
}

func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pkg == pattern
}

// check says what is wrong with package pkg, named without the module, importing path; "" if nothing is.
func check(pkg, path string) string {
	if slices.Contains(pure[pkg], path) {
		return fmt.Sprintf("%s imports %s, but codecs do no I/O, own no goroutine and read no clock", pkg, path)
	}
	target, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return ""
	}
	for _, r := range rules {
		if !matches(r.pattern, pkg) {
			continue
		}
		for _, allowed := range r.allowed {
			if matches(allowed, target) {
				return ""
			}
		}
		return fmt.Sprintf("%s imports %s; it may import of this module: %s", pkg, target, orNothing(r.allowed))
	}
	return fmt.Sprintf("no rule for package %s: add it to the table in rules_test.go", pkg)
}

func orNothing(allowed []string) string {
	if len(allowed) == 0 {
		return "nothing"
	}
	return strings.Join(allowed, ", ")
}
