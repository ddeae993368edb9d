package state_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"minisrp/cmd/srpd/hold"
	"minisrp/cmd/srpd/state"
	"minisrp/scsi"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

var ctx = context.Background()

func open(t *testing.T, dir string) *state.Store {
	t.Helper()
	s, err := state.Open(dir, state.Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// contents is everything that a store knows.
type contents struct {
	identity state.Identity
	serials  [2]string
	bindings []state.Binding
}

func read(t *testing.T, s *state.Store) (c contents) {
	t.Helper()
	var err error
	if c.identity, err = s.Identity(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range c.serials {
		if c.serials[i], err = s.UnitSerial(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if c.bindings, err = s.Bindings(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLasts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	for i, id := range []scsi.UnitID{"naa.6000", "naa.0001", "eui.5"} {
		if name, err := s.Bind(t.Context(), id); err != nil || name != fmt.Sprint("disk", i) {
			t.Fatalf("%s is %q, %v", id, name, err)
		}
	}
	before := read(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if after := read(t, s); !reflect.DeepEqual(before, after) {
		t.Errorf("before\n%+v\nafter\n%+v", before, after)
	}
	if name, err := s.Bind(t.Context(), "naa.0001"); err != nil || name != "disk1" {
		t.Errorf("%q, %v", name, err)
	}
	id := before.identity
	if id.InitiatorGUID == id.TargetGUID || id.TargetGUID>>56&3 != 2 || before.serials[0] == before.serials[1] {
		t.Errorf("%+v", before)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestInUse(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, err := state.Open(dir, state.Options{Log: quiet})
	if !errors.Is(err, hold.ErrInUse) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("second: %v", err)
	}
	read(t, s)
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir())
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Identity(t.Context()); !errors.Is(err, state.ErrClosed) {
		t.Error(err)
	}
}

func TestBadArguments(t *testing.T) {
	s := open(t, t.TempDir())
	if _, err := s.Bind(t.Context(), ""); err == nil {
		t.Error("a unit without identity was bound")
	}
	if _, err := s.UnitSerial(t.Context(), -1); err == nil {
		t.Error("unit -1 has a serial number")
	}
}

// A state directory that cannot be made or used is an error with its path, and is left alone.
func TestBadDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Open(file, state.Options{Log: quiet}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if b, _ := os.ReadFile(file); string(b) != "precious" {
		t.Error("the file was touched")
	}
}

// Little space is refused before anything is written, both at the start and later.
func TestSpace(t *testing.T) {
	dir := t.TempDir()
	free := uint64(1 << 20)
	opt := state.Options{Log: quiet, Free: func(string) (uint64, error) { return free, nil }}
	_, err := state.Open(dir, opt)
	var d *state.DatabaseError
	if !errors.Is(err, state.ErrSpace) || !errors.As(err, &d) || !strings.Contains(d.Advice(), "make room") {
		t.Fatalf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	free = 1 << 30
	s, err := state.Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := read(t, s)
	free = 1 << 20
	if _, err := s.Bind(t.Context(), "naa.1"); !errors.Is(err, state.ErrSpace) {
		t.Errorf("%v", err)
	}
	if after := read(t, s); !reflect.DeepEqual(before, after) {
		t.Error("the refused change was made")
	}
	free = 1 << 30
	if name, err := s.Bind(t.Context(), "naa.1"); err != nil || name != "disk0" {
		t.Errorf("with room again: %q, %v", name, err)
	}
}
