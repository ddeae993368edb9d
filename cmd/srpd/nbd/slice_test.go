package nbd_test

import (
	"bytes"
	"errors"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// The disk that the server is measured on keeps what it is given.
func TestSlice(t *testing.T) {
	d, err := nbdtest.NewSlice(mib)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: d})
	k, err := nbdtest.Dial(s.path, "x")
	if err != nil {
		t.Fatal(err)
	}
	want, got := bytes.Repeat([]byte("slice of"), 512), make([]byte, 4096)
	for _, c := range []struct {
		cmd uint16
		at  uint64
		p   []byte
		err error
	}{
		{nbdtest.Write, mib - 4096, want, nil},
		{nbdtest.Flush, 0, nil, nil},
		{nbdtest.Read, mib - 4096, got, nil},
		{nbdtest.Read, mib, make([]byte, 4096), nbdtest.Errno(22)},
	} {
		if err := k.Do(c.cmd, 0, c.at, c.p, uint32(len(c.p))); !errors.Is(err, c.err) {
			t.Errorf("command %d at %d: %v, want %v", c.cmd, c.at, err, c.err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Error("what was written is not what is read")
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}
