package suite

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"minisrp/bench/peer"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
	"minisrp/bench/scale"
)

func open(t *testing.T, cases string) (*Suite, error) {
	t.Helper()
	pool, err := peer.NewPool("srpd", "bench", 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg := Config{Pool: pool, Size: 64 << 20, Duration: time.Second}
	if cases != "" {
		cfg.Cases = regexp.MustCompile(cases)
	}
	return New(cfg)
}

// ideal is a round in which every contestant did the same.
func ideal(g rounds.Group) result.Round {
	r := result.Round{Samples: map[string]result.Sample{}}
	for _, c := range g.Contestants {
		r.Samples[c.Name] = result.Sample{
			IOPS: 1000, Bytes: 4096000, Latency: result.Latency{Percentile: map[string]float64{result.P50: 5000, result.P99: 9000}},
			ServerCPU: 3, Resident: 1 << 20, IdleCPU: 0.01,
		}
	}
	return r
}

// Every figure is made of a group that is measured, and of contestants that are in it.
func TestFiguresHaveContestants(t *testing.T) {
	s, err := open(t, "")
	if err != nil {
		t.Fatal(err)
	}
	var groups []result.Group
	for _, g := range s.Groups() {
		groups = append(groups, result.Group{Name: g.Name, Rounds: []result.Round{ideal(g)}})
	}
	names := map[string]bool{}
	for _, f := range s.Figures(groups) {
		if len(f.Values) != 1 {
			t.Errorf("%s: %s", f.Name, f.Missing)
			continue
		}
		want := 1.0
		if f.Unit == "µs" {
			want = 0 // a difference
		}
		if math.Abs(f.Values[0]-want) > 1e-9 {
			t.Errorf("%s: %v %s, want %v", f.Name, f.Values[0], f.Unit, want)
		}
		if f.Aim != 0 && (f.Lower && f.Aim >= f.Must || !f.Lower && f.Aim <= f.Must) {
			t.Errorf("%s: the aim %v is no better than %v", f.Name, f.Aim, f.Must)
		}
		if names[f.Name] {
			t.Errorf("two figures are called %s", f.Name)
		}
		names[f.Name] = true
	}
}

// What is missing is said, and does not hide the rounds in which it was there.
func TestMissing(t *testing.T) {
	s, err := open(t, "^nbd-read-cpu$")
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Figures(nil); len(f) != 1 || f[0].Verdict() != result.NotRun || f[0].Missing == "" {
		t.Errorf("before anything was measured: %+v", f)
	}
	good := ideal(s.Groups()[0])
	bad := ideal(s.Groups()[0])
	delete(bad.Samples, "nbdkit memory")
	bad.Failed = map[string]string{"nbdkit memory": "nbdkit is not installed\nand more"}
	f := s.Figures([]result.Group{{Name: "nbd-read-4k-32", Rounds: []result.Round{bad}}})
	if f[0].Missing != "nbdkit memory: nbdkit is not installed" || f[0].Verdict() != result.NotRun {
		t.Errorf("without nbdkit: %+v", f)
	}
	f = s.Figures([]result.Group{{Name: "nbd-read-4k-32", Rounds: []result.Round{bad, good}}})
	if f[0].Missing != "" || len(f[0].Values) != 1 {
		t.Errorf("with nbdkit in one round: %+v", f)
	}
}

// The faster of two counts, and either may be missing.
func TestRatioToTheBest(t *testing.T) {
	r := result.Round{Samples: map[string]result.Sample{"a": {IOPS: 6}, "b": {IOPS: 3}, "c": {IOPS: 4}}}
	value := ratio(iops, "a", "b", "c")
	if v, err := value(r); v != 1.5 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	delete(r.Samples, "c")
	if v, err := value(r); v != 2 || err != nil {
		t.Errorf("without c: %v, %v", v, err)
	}
	delete(r.Samples, "b")
	if v, err := value(r); err == nil {
		t.Errorf("without both: %v", v)
	}
}

func TestScales(t *testing.T) {
	r := result.Round{Samples: map[string]result.Sample{
		path: {IOPS: 10}, path + twice: {IOPS: 15}, bareModel: {IOPS: 100}, bareModel + twice: {IOPS: 200},
	}}
	if v, err := scales(r); v != 0.75 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
}

func TestBeyondMemcpy(t *testing.T) {
	r := result.Round{Samples: map[string]result.Sample{memcpy: {IOPS: 2e6}, bareModel: {IOPS: 1e6}}}
	if v, err := beyondMemcpy(r); v != 0.5 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
}

func TestCases(t *testing.T) {
	s, err := open(t, "badger|nbd-read-4k-2$")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range s.Groups() {
		names = append(names, g.Name)
	}
	if want := []string{"disk-write-4k-32", "nbd-read-4k-2"}; !slices.Equal(names, want) {
		t.Errorf("groups %q, want %q", names, want)
	}
	if f := s.Figures(nil); len(f) != 1 || f[0].Name != "badger-write" {
		t.Errorf("figures %+v", f)
	}
	if _, err := open(t, "no such thing"); err == nil || !strings.Contains(err.Error(), "nbd-read-1") {
		t.Errorf("the names are not told: %v", err)
	}
}

// A program that is not there is named, with where to get it.
func TestContestants(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s, err := open(t, "nbd-read$")
	if err != nil {
		t.Fatal(err)
	}
	all := s.Contestants()
	i := slices.IndexFunc(all, func(c result.Contestant) bool { return c.Name == "nbdkit memory" })
	if i < 0 || all[i].Missing != "nbdkit is not installed: Debian has it in nbdkit" || !strings.HasPrefix(all[i].Command, "nbdkit -f -U ") {
		t.Errorf("contestants: %+v", all)
	}
}

// Curves come with what they are made of.
func TestCurves(t *testing.T) {
	s, err := open(t, "loopback")
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Curves(nil); len(c) != 0 {
		t.Errorf("of nothing: %+v", c)
	}
	measured := func(name string, iops float64) result.Group {
		return result.Group{Name: name, Rounds: []result.Round{{Samples: map[string]result.Sample{path: {IOPS: iops}}}}}
	}
	c := s.Curves([]result.Group{measured("loopback-read-4k-1", 400e3), measured("loopback-read-4k-32", 650e3)})
	if len(c) != 1 || len(c[0].Lines) == 0 {
		t.Fatalf("got %+v", c)
	}
	for _, l := range c[0].Lines {
		if len(l.Points) != 8 || l.Points[0].Y != 1 {
			t.Errorf("%s: %+v", l.Name, l.Points)
		}
	}
}

// What targets and units cost becomes a line for each number of units a target has, and one that goes on to 10,000.
func TestScaleCurves(t *testing.T) {
	curves := ScaleCurves(&scale.Result{
		Points: []scale.Point{
			{Targets: 1, Units: 1, Cost: []float64{3000, 1000, 2000}, Resident: 1 << 20},
			{Targets: 4, Units: 4, Cost: []float64{4000}, Resident: 4 << 20},
			{Targets: 1, Units: 64, Cost: []float64{5000}, Resident: 2 << 20},
		},
		Resident: scale.Plane{PerTarget: 1 << 20, PerUnit: 1024},
		Needs:    []scale.Need{{What: "open files", Of: "RLIMIT_NOFILE", Units: 20000}},
	})
	if len(curves) != 2 || len(curves[0].Lines) != 2 || len(curves[1].Lines) != 3 {
		t.Fatalf("got %+v", curves)
	}
	if got, want := curves[0].Lines[0], (result.Line{Name: "a unit a target", Points: []result.Point{{X: 1, Y: 2, Min: 1, Max: 3}, {X: 4, Y: 4, Min: 4, Max: 4}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	model := curves[1].Lines[2].Points
	if last := model[len(model)-1]; last.X != scale.Large || math.Abs(last.Y-(10000/64.+10000/1024.)) > 1e-9 {
		t.Errorf("10,000 units: %+v", last)
	}
	if r := curves[1].Remark; !strings.Contains(r, "open files (RLIMIT_NOFILE), at 20000 units") {
		t.Error(r)
	}
}
