package peer

import (
	"context"
	"os/exec"
	"strings"

	"minisrp/bench/result"
)

// Tools tells which programs of others are there, and their versions.
func Tools(ctx context.Context) []result.Tool {
	var all []result.Tool
	for _, t := range []struct{ name, option string }{
		{"fio", "--version"}, {"nbdkit", "--version"}, {"qemu-storage-daemon", "--version"}, {"tgtd", "--version"},
		{"iscsi-perf", "--version"}, // which it does not know: it prints its usage
	} {
		tool := result.Tool{Name: t.name, Package: Package(t.name)}
		if Have(t.name) == nil {
			out, _ := exec.CommandContext(ctx, t.name, t.option).CombinedOutput()
			tool.Version = version(string(out))
		}
		all = append(all, tool)
	}
	return all
}

// version returns the line of what a program prints that tells its version.
func version(out string) string {
	for line := range strings.Lines(out) {
		if strings.ContainsAny(line, "0123456789") && !strings.HasPrefix(line, "Usage") {
			return strings.TrimSpace(line)
		}
	}
	return "of an unknown version"
}
