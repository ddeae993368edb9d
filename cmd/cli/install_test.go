package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minisrp/test/need"
)

// run runs a program of others, with a text as its input, and returns all that it says. One that is not installed skips
// the test, or fails it in CI.
func run(t *testing.T, input, name string, args ...string) (string, bool) {
	t.Helper()
	path := need.Tool(t, name)
	cmd := exec.Command(path, args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS") }),
		"XDG_CONFIG_HOME="+t.TempDir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return out.String(), err == nil
}

// pages returns the manual pages of all programs.
func pages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../*/man/*.8")
	if err != nil || len(files) < 30 {
		t.Fatalf("there are %d manual pages: %v", len(files), err)
	}
	return files
}

// mandoc finds nothing wrong with the manual pages. They have no date: they are as old as their program.
func TestPagesForMandoc(t *testing.T) {
	out, _ := run(t, "", "mandoc", append([]string{"-T", "lint", "-W", "warning"}, pages(t)...)...)
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "missing date") {
			t.Error(strings.TrimSpace(line))
		}
	}
}

// groff, which man uses, has nothing to say about them.
func TestPagesForGroff(t *testing.T) {
	out, ok := run(t, "", "groff", append([]string{"-man", "-ww", "-Kutf8", "-Tutf8", "-rLL=100n", "-z"}, pages(t)...)...)
	if !ok || out != "" {
		t.Error(out)
	}
}

// Every command of the other pages is one, so that no page sends its reader to nowhere.
func TestPagesRelated(t *testing.T) {
	all := pages(t)
	for _, page := range all {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for rest := string(b); ; {
			var name string
			_, behind, ok := strings.Cut(rest, `\fP(8)`)
			if !ok {
				break
			}
			name = rest[:len(rest)-len(behind)-len(`\fP(8)`)]
			name = strings.ReplaceAll(name[strings.LastIndex(name, `\fB`)+3:], `\-`, "-")
			if !slices.ContainsFunc(all, func(p string) bool { return filepath.Base(p) == name+".8" }) {
				t.Errorf("%s names %s(8), which is not there", page, name)
			}
			rest = behind
		}
	}
}

// make install puts everything where it is looked for, and what it has put there works.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds all programs")
	}
	dest, built := t.TempDir(), t.TempDir()
	if out, ok := run(t, "", "go", "build", "-o", built+"/", "minisrp/cmd/srpd", "minisrp/cmd/srpctl", "minisrp/cmd/srptgt"); !ok {
		t.Fatal(out)
	}
	if out, ok := run(t, "", "make", "-C", "../..", "--no-print-directory", "install", "-o", "build", "BUILT="+built, "DESTDIR="+dest, "PREFIX=/usr"); !ok {
		t.Fatal(out)
	}
	at := func(path string) string { return filepath.Join(dest, "usr", path) }
	for _, p := range []string{"srpd", "srpctl", "srptgt"} {
		for _, path := range []string{"share/man/man8/" + p + ".8", "share/bash-completion/completions/" + p,
			"share/zsh/site-functions/_" + p, "share/fish/vendor_completions.d/" + p + ".fish"} {
			if st, err := os.Stat(at(path)); err != nil || st.Size() == 0 || st.Mode().Perm()&0o444 != 0o444 {
				t.Errorf("%s: %v, %v", path, st, err)
			}
		}
		if out, ok := run(t, "", at("bin/"+p), "version"); p != "srpctl" && (!ok || !strings.HasPrefix(out, p+" ")) {
			t.Errorf("%s version: %s", p, out)
		}
	}
	unit, err := os.ReadFile(at("lib/systemd/system/srpd.service"))
	if err != nil || !strings.Contains(string(unit), "ExecStart=/usr/bin/srpd run") {
		t.Errorf("the unit file: %v\n%s", err, unit)
	}
	installed, err := filepath.Glob(at("share/man/man8/*"))
	if err != nil || len(installed) != len(pages(t)) {
		t.Errorf("%d pages are installed: %v", len(installed), err)
	}
	t.Run("bash", func(t *testing.T) {
		out, _ := run(t, `PATH=`+at("bin")+`:$PATH
. /usr/share/bash-completion/bash_completion
. `+at("share/bash-completion/completions/srpctl")+`
COMP_WORDS=(srpctl lat) COMP_CWORD=1 COMP_LINE="srpctl lat" COMP_POINT=10 COMP_TYPE=9
__start_srpctl
printf '[%s]\n' "${COMPREPLY[@]}"
`, "bash", "--norc")
		if !strings.Contains(out, "[latencies]") {
			t.Errorf("bash completes\n%s", out)
		}
	})
	t.Run("zsh", func(t *testing.T) {
		if out, ok := run(t, "", "zsh", "-n", at("share/zsh/site-functions/_srpctl")); !ok || out != "" {
			t.Error(out)
		}
	})
	t.Run("fish", func(t *testing.T) {
		out, _ := run(t, "", "fish", "--no-config", "-c", "set -x PATH "+at("bin")+" $PATH; source "+at("share/fish/vendor_completions.d/srpctl.fish")+"; complete -C 'srpctl lat'")
		if !strings.Contains(out, "latencies\t") {
			t.Errorf("fish completes\n%s", out)
		}
	})
}
