package metrics_test

import (
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"minisrp/cmd/control/controltest"
	"minisrp/cmd/srpd/metrics"
)

var update = flag.Bool("update", false, "write the golden file anew")

var quiet = slog.New(slog.DiscardHandler)

func scrape(t *testing.T, s *controltest.Source) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	metrics.Handler(s, quiet).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	b, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(b)
}

// Prometheus' own linter finds nothing to say.
func TestLint(t *testing.T) {
	problems, err := testutil.CollectAndLint(metrics.NewCollector(controltest.Full()))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	code, text := scrape(t, controltest.Full())
	problems, err = promlint.New(strings.NewReader(text)).Lint()
	if code != 200 || err != nil || len(problems) > 0 {
		t.Errorf("%d, %v, %v", code, problems, err)
	}
}

// Names, types and labels do not change by accident: dashboards and alerts have them.
func TestNames(t *testing.T) {
	_, text := scrape(t, controltest.Full())
	var names []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "# TYPE minisrp_"); ok {
			names = append(names, "minisrp_"+name)
		}
	}
	slices.Sort(names)
	const golden = "testdata/names.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(names, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(golden); err != nil || string(b) != strings.Join(names, "") {
		t.Errorf("the names are not those of %s (%v):\n%s", golden, err, strings.Join(names, ""))
	}
	for _, line := range []string{"minisrp_target_up{target=\"embedded\"} ", "minisrp_disk_size_bytes{disk=\"disk0\"} "} {
		if !strings.Contains(text, line) {
			t.Errorf("%s is missing in\n%s", line, text)
		}
	}
}

// A source that fails fails the scrape, and says why.
func TestFailure(t *testing.T) {
	s := controltest.Full()
	s.Err = errors.New("the source is dry")
	if code, text := scrape(t, s); code != 500 || !strings.Contains(text, "the source is dry") {
		t.Errorf("%d: %s", code, text)
	}
}
