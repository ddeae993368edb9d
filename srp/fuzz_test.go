package srp_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"minisrp/srp"
)

// roundTrip is the property that every decoder and its encoder have: whatever the bytes, no panic; and what
// decodes encodes to the same bytes in all that is defined, and decodes to the same again. It reports whether b decodes.
func roundTrip(t *testing.T, first, second codec, b []byte, rdmaCM bool) (decoded bool) {
	b = b[:len(b):len(b)]
	before := bytes.Clone(b)
	err := first.Decode(b)
	if !bytes.Equal(b, before) {
		t.Fatal("Decode writes to its input")
	}
	if err != nil {
		var format *srp.FormatError
		if !errors.Is(err, srp.ErrFormat) || !errors.As(err, &format) || format.Field == "" || err.Error() == "" {
			t.Fatalf("error %#v", err)
		}
		return false
	}
	out := bytes.Repeat([]byte{0xff}, len(b))
	n, err := first.Encode(out)
	if err != nil {
		t.Fatalf("% x\ndecodes to %+v\nwhich does not encode: %v", b, first, err)
	}
	if want := normalize(b, rdmaCM)[:n]; !bytes.Equal(out[:n], want) {
		t.Fatalf("encodes to\n% x, want\n% x", out[:n], want)
	}
	if err := second.Decode(out[:n:n]); err != nil {
		t.Fatalf("% x\nencodes to\n% x\nwhich does not decode: %v", b, out[:n], err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Fatalf("% x\ndecodes to %+v\nand after encoding to %+v", b, first, second)
	}
	return true
}

// fuzz seeds with every sample; the corpus in testdata adds captured and contradictory IUs.
func fuzz[T any, P interface {
	*T
	codec
}](f *testing.F, op srp.Opcode) {
	addSeeds(f, op, func(b []byte) { f.Add(b) })
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second T
		roundTrip(t, P(&first), P(&second), b, false)
	})
}

func addSeeds(f *testing.F, op srp.Opcode, add func([]byte)) {
	for _, s := range samples() {
		if !s.rdmaCM() {
			if b := s.bytes(f); srp.Opcode(b[0]) == op {
				add(b)
			}
		}
	}
}

func FuzzLoginReq(f *testing.F)       { fuzz[srp.LoginReq](f, srp.OpLoginReq) }
func FuzzLoginRsp(f *testing.F)       { fuzz[srp.LoginRsp](f, srp.OpLoginRsp) }
func FuzzLoginRej(f *testing.F)       { fuzz[srp.LoginRej](f, srp.OpLoginRej) }
func FuzzILogout(f *testing.F)        { fuzz[srp.ILogout](f, srp.OpILogout) }
func FuzzTLogout(f *testing.F)        { fuzz[srp.TLogout](f, srp.OpTLogout) }
func FuzzTaskManagement(f *testing.F) { fuzz[srp.TaskManagement](f, srp.OpTaskManagement) }
func FuzzResponse(f *testing.F)       { fuzz[srp.Response](f, srp.OpResponse) }
func FuzzCredReq(f *testing.F)        { fuzz[srp.CredReq](f, srp.OpCredReq) }
func FuzzCredRsp(f *testing.F)        { fuzz[srp.CredRsp](f, srp.OpCredRsp) }
func FuzzAERReq(f *testing.F)         { fuzz[srp.AERReq](f, srp.OpAERReq) }
func FuzzAERRsp(f *testing.F)         { fuzz[srp.AERRsp](f, srp.OpAERRsp) }

func FuzzLoginReqRDMACM(f *testing.F) {
	for _, s := range samples() {
		if s.rdmaCM() {
			f.Add(s.bytes(f))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second rdmaCMLoginReq
		roundTrip(t, &first, &second, b, true)
	})
}

// commandAt is a command with any immediate offset.
type commandAt struct {
	srp.Command
	immediate int
}

func (c *commandAt) Decode(b []byte) error { return c.Command.Decode(b, c.immediate) }

func (c *commandAt) Encode(b []byte) (int, error) {
	n, err := c.Command.Encode(b, c.immediate)
	if err == nil && c.DataOut.Format == srp.DataImmediate {
		n += copy(b[n:], c.ImmediateData)
	}
	return n, err
}

func FuzzCommand(f *testing.F) {
	addSeeds(f, srp.OpCommand, func(b []byte) { f.Add(b, uint16(immediateOffset)) })
	f.Fuzz(func(t *testing.T, b []byte, immediate uint16) {
		first, second := commandAt{immediate: int(immediate)}, commandAt{immediate: int(immediate)}
		if !roundTrip(t, &first, &second, b, false) {
			return
		}
		for _, d := range []*srp.DataBuffer{&first.DataOut, &first.DataIn} {
			if d.Format == srp.DataIndirect && (d.List.Len() > d.TableLen() ||
				d.Complete() && d.List.Total() != uint64(d.Length)) {
				t.Errorf("accepted %d descriptors of %d, %d bytes of %d",
					d.List.Len(), d.TableLen(), d.List.Total(), d.Length)
			}
		}
	})
}

func FuzzParsePortID(f *testing.F) {
	for _, s := range []string{"0x00000000000000010000000000000002", "505400fffe12340a505400fffe12340a",
		"50:54:00:ff:fe:12:34:0a:50:54:00:ff:fe:12:34:0a", "5054:00ff:fe12:340a:5054:00ff:fe12:340a", "0x", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := srp.ParsePortID(s)
		if err != nil {
			return
		}
		if again, err := srp.ParsePortID(id.String()); err != nil || again != id {
			t.Errorf("%q reads as %v, and that as %v, %v", s, id, again, err)
		}
	})
}
