package scsi

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// sg_get_lba_status reads what is built, and says what was meant.
func TestOracleLBAStatus(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 70))
	for range 40 {
		n := 1 + rng.IntN(5)
		b := AppendLBAStatusHeader(nil, n)
		var all []LBAStatus
		var want strings.Builder
		for range n {
			s := LBAStatus{LBA: rng.Uint64(), Blocks: rng.Uint32(), Status: ProvisioningStatus(rng.UintN(5)), Additional: uint8(rng.UintN(2))}
			all = append(all, s)
			b = s.Append(b)
			fmt.Fprintf(&want, "0x%016x  0x%x  %d  %d\n", s.LBA, s.Blocks, s.Status, s.Additional)
		}
		l, err := ParseLBAStatus(b)
		if err != nil || l.Len() != n {
			t.Fatalf("%x: %d descriptors, %v", b, l.Len(), err)
		}
		for i, s := range all {
			if l.At(i) != s {
				t.Errorf("%x: %+v, want %+v", b, l.At(i), s)
			}
		}
		for cut := range len(b) {
			l, err := ParseLBAStatus(b[:cut])
			if cut < LBAStatusHeaderSize != (err != nil) || err == nil && l.Len() != (cut-LBAStatusHeaderSize)/LBAStatusSize {
				t.Errorf("cut at %d: %d descriptors, %v", cut, l.Len(), err)
			}
		}
		out := tool(t, b, "sg_get_lba_status", "--inhex=FILE", "--raw", "--brief", "--maxlen="+fmt.Sprint(len(b)))
		if oneSpaced(out) != oneSpaced("Completion condition=0 RTP=0 "+want.String()) {
			t.Errorf("the tool reads\n%s\nwant\n%s", out, want.String())
		}
	}
}

// oneSpaced makes white space the same everywhere.
func oneSpaced(s string) string { return strings.Join(strings.Fields(s), " ") }

func FuzzLBAStatus(f *testing.F) {
	f.Add((&LBAStatus{LBA: 7, Blocks: 9, Status: LBADeallocated}).Append(AppendLBAStatusHeader(nil, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLBAStatus(b)
		if err != nil {
			return
		}
		out := AppendLBAStatusHeader(nil, l.Len())
		for i := range l.Len() {
			s := l.At(i)
			out = s.Append(out)
		}
		again, err := ParseLBAStatus(out)
		if err != nil || again.Len() != l.Len() {
			t.Fatalf("%x: rebuilt %x, %v", b, out, err)
		}
		for i := range l.Len() {
			if again.At(i) != l.At(i) {
				t.Fatalf("%x: %+v, rebuilt %+v", b, l.At(i), again.At(i))
			}
		}
	})
}
