package path

import (
	"bytes"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/test/rig"
)

// exec runs a READ or WRITE with a CDB of the size given on memory of 4 KiB, and returns the SRB.
func exec(t *testing.T, r *rig.Rig, region *miniport.Region, write bool, size int) *miniport.SRB {
	t.Helper()
	s := &miniport.SRB{Direction: miniport.DataIn, Length: 4096, CDBLength: uint8(size)}
	if write {
		s.Direction = miniport.DataOut
	}
	s.Data = []miniport.Segment{{Region: region, Length: s.Length}}
	rw := scsi.RW{Write: write, LBA: 40, Blocks: 8}
	if err := rw.PutSize(&s.CDB, min(size, 32)); err != nil {
		t.Fatal(err)
	}
	_ = r.Port.Units()[0].Exec(t.Context(), s) // which says the same as Status
	return s
}

// A CDB of 32 bytes goes from the SRB to the unit in the additional CDB of SRP_CMD, if the session allows it, and no
// other does.
func TestCDBOf32Bytes(t *testing.T) {
	for _, most := range []int{0, 32} {
		r, err := rig.New(t.Context(), rig.Config{Session: func(c *srp.SessionConfig) { c.MaxCDB = most }})
		if err != nil {
			t.Fatal(err)
		}
		defer closeRig(t, r)
		region, free, err := r.Memory(t.Context(), 4096)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		want := miniport.StatusInvalidRequest
		if most == 32 {
			want = miniport.StatusSuccess
		}
		fill(region.Bytes(), 0x32)
		if s := exec(t, r, region, true, 32); s.Status != want {
			t.Fatalf("at most %d: WRITE(32) %v, want %v", most, s.Status, want)
		}
		for _, size := range []int{16, 32} {
			fill(region.Bytes(), 0)
			s := exec(t, r, region, false, size)
			wrote := size == 16 || most == 32
			if wrote != (s.Status == miniport.StatusSuccess) {
				t.Errorf("at most %d: READ(%d) %v", most, size, s.Status)
			} else if wrote && bytes.Count(region.Bytes(), []byte{0x32}) != 4096*most/32 {
				t.Errorf("at most %d: READ(%d) gives % x…", most, size, region.Bytes()[:8])
			}
		}
		if s := exec(t, r, region, false, 200); s.Status != miniport.StatusInvalidRequest {
			t.Errorf("a CDB longer than its room: %v", s.Status)
		}
	}
}
