package exitcode_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"minisrp/cmd/exitcode"
)

// Scripts depend on the numbers.
func TestNumbers(t *testing.T) {
	for want, c := range []exitcode.Code{
		exitcode.OK, exitcode.Failure, exitcode.Usage, exitcode.NotFound, exitcode.Rejected, exitcode.InUse,
		exitcode.Unreachable, exitcode.Unusable, exitcode.State, exitcode.NoDaemon, exitcode.Denied, exitcode.Unclean,
		exitcode.Cut, exitcode.Exists, exitcode.Conflict,
	} {
		if int(c) != want {
			t.Errorf("%s is %d, was %d", c, int(c), want)
		}
	}
}

// The README has the table as it is.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(exitcode.Table()) {
		n, what, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if want := fmt.Sprintf("| %s | %s |", n, what); !strings.Contains(string(b), want) {
			t.Errorf("README.md lacks %q", want)
		}
	}
}

func TestOf(t *testing.T) {
	inner := exitcode.Errorf(exitcode.Usage, "option %s", "x")
	for _, c := range []struct {
		err  error
		want exitcode.Code
	}{
		{nil, exitcode.OK},
		{errors.New("x"), exitcode.Failure},
		{inner, exitcode.Usage},
		{fmt.Errorf("outer: %w", inner), exitcode.Usage},
		{exitcode.With(exitcode.State, inner, "later advice"), exitcode.Usage},
		{exitcode.With(exitcode.State, errors.New("x"), ""), exitcode.State},
		{exitcode.With(exitcode.State, nil, ""), exitcode.OK},
	} {
		if got := exitcode.Of(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
	if s := exitcode.Code(99).String(); s != "unknown exit code 99" {
		t.Error(s)
	}
}

func ExamplePrint() {
	err := exitcode.With(exitcode.Unreachable, errors.New("no route to 192.0.2.7:5555"), "compare dest= with the target's address")
	exitcode.Print(os.Stdout, "srpd", err)
	// Output:
	// srpd: no route to 192.0.2.7:5555
	//   compare dest= with the target's address
}
