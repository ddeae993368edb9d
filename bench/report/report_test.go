package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/bench/report"
	"minisrp/bench/result"
	"minisrp/cmd/cli/clitest"
)

func read(t *testing.T) *result.Result {
	t.Helper()
	r, err := result.Read("../result/testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTables(t *testing.T) {
	r := read(t)
	var b bytes.Buffer
	if err := errors.Join(report.Table(&b, r), report.Samples(&b, r)); err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, filepath.Join("testdata", "tables.txt"), b.String())
}

func TestCompare(t *testing.T) {
	before, after := read(t), read(t)
	after.Figures[0].Values = result.Series{0.5, 0.6}
	after.Figures[1].Values = result.Series{1, 1.3}
	after.Figures[3].Values = result.Series{40}
	after.Figures = append(after.Figures, result.Figure{Name: "new", Of: "this / that", Values: result.Series{1}})
	var b bytes.Buffer
	if err := report.Compare(&b, result.Compare(before, after)); err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, filepath.Join("testdata", "compare.txt"), b.String())
}

// The page has all figures, and needs nothing else; its plots are well-formed.
func TestHTML(t *testing.T) {
	r := read(t)
	var b bytes.Buffer
	if err := report.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, f := range r.Figures {
		if !strings.Contains(page, f.Name) {
			t.Errorf("the page lacks %s", f.Name)
		}
	}
	for _, want := range []string{"tgtd is not installed", "go1.26.8", "0123456789abcdef", "BenchmarkLoad", "runtime.memmove", "It breaks at 10,000."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, other := range []string{"<script", "<link", "<img", "src=", "url("} {
		if strings.Contains(page, other) {
			t.Errorf("the page has %s, and is to need nothing else", other)
		}
	}
	plots := 0
	for rest := page; ; plots++ {
		_, behind, ok := strings.Cut(rest, "<svg")
		if !ok {
			break
		}
		plot, after, ok := strings.Cut(behind, "</svg>")
		if !ok {
			t.Fatal("a plot does not end")
		}
		rest = after
		if err := wellFormed("<svg" + plot + "</svg>"); err != nil {
			t.Errorf("plot %d: %v", plots, err)
		}
	}
	if plots != 7 { // figures, depths, latency and CPU of two groups, a curve
		t.Errorf("%d plots, want 7", plots)
	}
}

// wellFormed reads XML to its end.
func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// A result in which nothing was measured has a page too.
func TestHTMLOfNothing(t *testing.T) {
	r := &result.Result{Figures: []result.Figure{{Name: "a", Title: "<i>", Must: 1, Missing: "no <tool>"}}, Groups: []result.Group{{Name: "nbd-read-4k-1"}}}
	var b bytes.Buffer
	if err := report.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	if page := b.String(); strings.Contains(page, "<i>") || !strings.Contains(page, "no &lt;tool&gt;") {
		t.Errorf("text is not escaped:\n%s", page)
	}
	if err := report.HTML(io.Discard, &result.Result{}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(report.Table(io.Discard, r), report.Samples(io.Discard, r)); err != nil {
		t.Error(err)
	}
}
