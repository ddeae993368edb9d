package daemon

import (
	"reflect"
	"testing"

	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/cmd/srpd/state"
)

// What a disk is asked for is counted over restarts, and while it is counted nothing is counted twice.
func TestTotals(t *testing.T) {
	dir := t.TempDir()
	for run := range uint64(3) {
		d, err := Start(t.Context(), config(dir))
		if err != nil {
			t.Fatal(err)
		}
		c, err := nbdtest.Dial(d.cfg.Socket, "disk0")
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 4096)
		for i, cmd := range []uint16{nbdtest.Write, nbdtest.Read, nbdtest.Write, nbdtest.Write} {
			if err := c.Do(cmd, 0, uint64(i)*4096, p, 4096); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for range 2 {
			a, err := (&status{d}).Counters(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Totals) == 0 {
				t.Fatalf("run %d: nothing is counted", run)
			}
			got := a.Totals[0]
			if got.Name != "disk0" || got.Since.IsZero() || got.Reads != run+1 || got.BytesRead != 4096*(run+1) || got.Writes != 3*(run+1) ||
				got.BytesWritten != 3*4096*(run+1) || got.Errors != 0 {
				t.Errorf("run %d: %+v", run, got)
			}
		}
		stop(t, d)
	}
}

// Sums and differences take in every figure.
func TestTotalsArithmetic(t *testing.T) {
	one := reflect.TypeFor[state.Totals]()
	var a, b state.Totals
	for i := range one.NumField() {
		if one.Field(i).Type.Kind() == reflect.Uint64 {
			reflect.ValueOf(&a).Elem().Field(i).SetUint(uint64(10 + i))
			reflect.ValueOf(&b).Elem().Field(i).SetUint(uint64(i))
		}
	}
	sum, rest := plus(a, b), less(a, b)
	for i := range one.NumField() {
		if one.Field(i).Type.Kind() != reflect.Uint64 {
			continue
		}
		if got := reflect.ValueOf(sum).Field(i).Uint(); got != uint64(10+2*i) {
			t.Errorf("%s: sum %d", one.Field(i).Name, got)
		}
		if got := reflect.ValueOf(rest).Field(i).Uint(); got != 10 {
			t.Errorf("%s: difference %d", one.Field(i).Name, got)
		}
	}
}
