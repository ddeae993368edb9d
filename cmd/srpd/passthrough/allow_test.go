package passthrough_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"minisrp/cmd/srpd/passthrough"
	"minisrp/scsi"
)

// Of all operation codes and service actions these are allowed, and no other.
func TestAllowed(t *testing.T) {
	want := " 00 03 12 1a 25 4d 5a 5e/00 5e/01 5e/02 5e/03 5f/00 5f/01 5f/02 5f/03 5f/04 5f/05 5f/06 9e/10 9e/12 a0 a3/0a a3/0c a3/0d"
	got := ""
	for op := range 256 {
		for sa := range 32 {
			cdb := make([]byte, 32)
			cdb[0], cdb[1] = byte(op), byte(sa)
			n, ok := scsi.CDBLength(cdb)
			if !ok {
				n = 16
			}
			cdb = cdb[:n]
			err := passthrough.Check(cdb, 0, 0)
			if err != nil && (!errors.Is(err, passthrough.ErrRefused) || len(err.Error()) > 2000) {
				t.Errorf("% x: %v", cdb, err)
			}
			if err == nil {
				if _, has := scsi.ServiceAction(cdb); has {
					got += fmt.Sprintf(" %02x/%02x", op, sa)
				} else if sa == 0 {
					got += fmt.Sprintf(" %02x", op)
				}
			}
		}
	}
	if got != want {
		t.Errorf("allowed are\n%s, want\n%s", got, want)
	}
}

// Lengths and directions that a command does not have are refused.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		cdb     string
		in, out int
		text    string
	}{
		{"\x12\x00\x00\x00\x60\x00", 0, 1, "INQUIRY takes no data"},
		{"\x5f\x00\x00\x00\x00\x00\x00\x00\x18\x00", 24, 0, "sends nothing"},
		{"\x12\x00\x00\x00\x60", 96, 0, "5 bytes"},
		{"\x12\x00\x00\x00\x60\x00\x00", 96, 0, "7 bytes"},
		{"", 0, 0, "0 bytes"},
		{"\x2a\x00\x00\x00\x00\x00\x00\x00\x01\x00", 0, 512, "WRITE(10): want one of TEST UNIT READY"},
		{"\x04\x00\x00\x00\x00\x00", 0, 0, "FORMAT UNIT"},
		{"\x42\x00\x00\x00\x00\x00\x00\x00\x18\x00", 0, 24, "UNMAP"},
		{"\x5f\x07\x00\x00\x00\x00\x00\x00\x18\x00", 0, 24, "MOVE"},
	} {
		if err := passthrough.Check([]byte(c.cdb), c.in, c.out); !errors.Is(err, passthrough.ErrRefused) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("% x: %v, want %s", c.cdb, err, c.text)
		}
	}
}
