package srp_test

import (
	"fmt"
	"strings"
	"testing"

	"minisrp/srp"
)

// TestEveryValueHasItsText: values that the standard defines have words of their own, others a text with the number.
func TestEveryValueHasItsText(t *testing.T) {
	for _, c := range []struct {
		text   func(int) fmt.Stringer
		values map[int]bool
		limit  int
		number string
	}{
		{func(i int) fmt.Stringer { return srp.Opcode(i) }, set(0, 1, 2, 3, 0x41, 0x42, 0x80, 0x81, 0x82, 0xc0, 0xc1, 0xc2),
			256, "0x%02x"},
		{func(i int) fmt.Stringer { return srp.RejectReason(0x10000 + i) }, set(0, 1, 2, 3, 4, 5, 6), 16, "0x%08x"},
		{func(i int) fmt.Stringer { return srp.ResponseCode(i) }, set(0, 2, 4, 5), 256, "%d"},
		{func(i int) fmt.Stringer { return srp.TaskFunction(i) }, set(1, 2, 4, 8, 0x40), 256, "0x%02x"},
		{func(i int) fmt.Stringer { return srp.LogoutReason(i) }, set(0, 1, 2, 3, 4), 16, "%d"},
		{func(i int) fmt.Stringer { return srp.DataFormat(i) }, set(0, 1, 2, 3), 16, "%d"},
		{func(i int) fmt.Stringer { return srp.TaskAttribute(i) }, set(0, 1, 2, 4), 256, "%d"},
		{func(i int) fmt.Stringer { return srp.Rule(i) }, set(0, 1, 2, 3), 256, "%d"},
	} {
		seen := make(map[string]int)
		for i := range c.limit {
			text := c.text(i).String()
			_, words, found := strings.Cut(text, ": ")
			if !found {
				words = text
			}
			unknown := strings.Contains(words, "unknown") || strings.Contains(words, "header dependent") ||
				strings.Contains(words, "(")
			if c.values[i] == unknown {
				t.Errorf("%T %d: %q", c.text(i), i, text)
			}
			if c.values[i] {
				if other, ok := seen[words]; ok {
					t.Errorf("%T: %d and %d are both %q", c.text(i), i, other, words)
				}
				seen[words] = i
			} else if !strings.Contains(text, fmt.Sprintf(c.number, i)) &&
				!strings.Contains(text, fmt.Sprintf(c.number, 0x10000+i)) {
				t.Errorf("%T %d: %q has no number", c.text(i), i, text)
			}
		}
	}
}

func set(values ...int) map[int]bool {
	m := make(map[int]bool)
	for _, v := range values {
		m[v] = true
	}
	return m
}

// TestEveryRejectReasonHasAdvice that differs from the others'.
func TestEveryRejectReasonHasAdvice(t *testing.T) {
	seen := map[string]bool{srp.RejectReason(0).Advice(): true}
	for r := srp.RejectUnableEstablish; r <= srp.RejectChannelLimit; r++ {
		if a := r.Advice(); a == "" || seen[a] {
			t.Errorf("%v: %q", r, a)
		} else {
			seen[a] = true
		}
	}
}

func TestBufferFormatsText(t *testing.T) {
	for f, want := range map[srp.BufferFormats]string{
		0: "0x0000", 2: "direct", 4: "indirect", 6: "direct+indirect", 0x8006: "direct+indirect+0x8000"} {
		if got := f.String(); got != want {
			t.Errorf("%#x: %q, want %q", uint16(f), got, want)
		}
	}
}

func TestPortIDLayouts(t *testing.T) {
	const ext, guid = 0x0102030405060708, 0xa1a2a3a4a5a6a7a8
	for class, want := range map[srp.IOClass]string{
		srp.IOClassR16a: "0x0102030405060708a1a2a3a4a5a6a7a8",
		srp.IOClassR10:  "0xa1a2a3a4a5a6a7a80102030405060708",
	} {
		id := class.PortID(ext, guid)
		if id.String() != want {
			t.Errorf("%v: %v, want %s", class, id, want)
		}
		if e, g := class.Split(id); e != ext || g != guid {
			t.Errorf("%v: splits into %x, %x", class, e, g)
		}
	}
	if got := srp.IOClass(1).String(); !strings.Contains(got, "unknown") {
		t.Errorf("I/O class 1 is %q", got)
	}
}

func TestPortIDText(t *testing.T) {
	want := srp.IOClassR16a.PortID(0x505400fffe12340a, 0x1b)
	for _, s := range []string{"0x505400fffe12340a000000000000001b", "0X505400FFFE12340A000000000000001B",
		"505400fffe12340a000000000000001b", "50:54:00:ff:fe:12:34:0a:00:00:00:00:00:00:00:1b",
		"5054:00ff:fe12:340a:0000:0000:0000:001b"} {
		var id srp.PortID
		if err := id.UnmarshalText([]byte(s)); err != nil || id != want {
			t.Errorf("%q: %v, %v", s, id, err)
		}
	}
	if text, err := want.MarshalText(); err != nil || string(text) != want.String() {
		t.Errorf("%q, %v", text, err)
	}
	for _, s := range []string{"", "0x", "0x1", "505400fffe12340a000000000000001", "505400fffe12340a000000000000001bff",
		"g05400fffe12340a000000000000001b"} {
		if id, err := srp.ParsePortID(s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", s)) {
			t.Errorf("%q: %v, %v", s, id, err)
		}
	}
}
