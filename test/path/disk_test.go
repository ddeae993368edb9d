package path

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/fault"
	"minisrp/test/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whatever the protection, the descriptors and the store: what a disk is told to hold, it
// holds.
func TestDiskHoldsWhatItIsTold(t *testing.T) {
	const size = 8 << 20
	for _, c := range []struct {
		name   string
		file   bool
		config rig.Config
	}{
		{"windows", false, rig.Config{}},
		{"bounce", false, rig.Config{Protect: srp.ProtectBounce}},
		{"region", false, rig.Config{Protect: srp.ProtectRegion}},
		{"file", true, rig.Config{}},
		{"no immediate data", false, rig.Config{Target: func(c *target.Config) { c.NoImmediateData = true }}},
		{"one credit", false, rig.Config{Target: func(c *target.Config) { c.Credits = 1 }}},
		{"direct only", false, rig.Config{Target: func(c *target.Config) { c.Formats = srp.BufferDirect }}},
		{"one descriptor in the IU", false, rig.Config{Session: func(c *srp.SessionConfig) { c.DescriptorsInIU = 1; c.MaxSegments = 16 }}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var store lun.Store
			var err error
			if c.file {
				store, err = lun.OpenFile(filepath.Join(t.TempDir(), "disk"), lun.FileOptions{Size: size})
			} else {
				store, err = lun.NewRAM(size, 512)
			}
			if err != nil {
				t.Fatal(err)
			}
			c.config.Stores = []lun.Store{store}
			r, err := rig.New(t.Context(), c.config)
			if err != nil {
				t.Fatal(err)
			}
			defer closeRig(t, r)
			compare(t, r, size)
		})
	}
}

// compare does random operations on the disk and on a slice, and compares all of it.
func compare(t *testing.T, r *rig.Rig, size int) {
	const most = 1 << 20
	region, free, err := r.Memory(t.Context(), 2*most)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	d := r.Disks[0]
	model := make([]byte, size)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		n := 512 * (1 + rnd.IntN(most/512/(1+i%8)))
		off := 512 * rnd.IntN((size-n)/512+1)
		q := &disk.Request{Offset: uint64(off), Length: uint64(n)}
		at := 0
		for left := n; left > 0; { // up to 4 pieces, apart
			k := left
			if len(q.Data) < 3 && left > 1024 {
				k = 512 * (1 + rnd.IntN(left/512))
			}
			q.Data = append(q.Data, miniport.Segment{Region: region, Offset: uint64(at), Length: uint32(k)})
			at += k + 512
			left -= k
		}
		switch rnd.IntN(5) {
		case 0, 1:
			q.Op, q.FUA = disk.Write, rnd.IntN(4) == 0
			m := model[off:]
			for _, s := range q.Data {
				for j := range s.Bytes() {
					s.Bytes()[j] = byte(rnd.Uint32())
				}
				m = m[copy(m, s.Bytes()):]
			}
		case 2:
			q.Op, q.Data, q.MayUnmap = disk.WriteZeroes, nil, rnd.IntN(2) == 0
			fill(model[off:off+n], 0)
		case 3:
			q.Op, q.Data = disk.Flush, nil
		}
		if err := r.Do(d, q); err != nil {
			t.Fatalf("%s of %d bytes at %d: %v", q.Op, n, off, err)
		}
		if q.Op == disk.Read {
			m := model[off:]
			for _, s := range q.Data {
				if !bytes.Equal(s.Bytes(), m[:len(s.Bytes())]) {
					t.Fatalf("read of %d bytes at %d differs", n, off)
				}
				m = m[len(s.Bytes()):]
			}
		}
	}
	for off := 0; off < size; off += most {
		q := &disk.Request{Op: disk.Read, Offset: uint64(off), Length: most, Data: []miniport.Segment{{Region: region, Length: most}}}
		if err := r.Do(d, q); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(q.Data[0].Bytes(), model[off:off+most]) {
			t.Fatalf("the disk differs from the model in the MiB at %d", off)
		}
	}
}

// rules reads faults.
func rules(t *testing.T, text string) *fault.Rules {
	t.Helper()
	rs, err := fault.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// A login refused for each reason ends with an error that has the reason in words.
func TestLoginRefused(t *testing.T) {
	for _, reason := range []srp.RejectReason{
		srp.RejectUnableEstablish, srp.RejectInsufficientResource, srp.RejectIUTooLarge, srp.RejectUnableAssociate,
		srp.RejectUnsupportedFormat, srp.RejectNoMultiChannel, srp.RejectChannelLimit,
	} {
		t.Run(reason.String(), func(t *testing.T) {
			r, err := rig.New(t.Context(), rig.Config{Target: func(c *target.Config) {
				c.Faults = rules(t, fmt.Sprintf("reject=%#x", uint32(reason)))
			}})
			if err == nil {
				closeRig(t, r)
				t.Fatal("logged in")
			}
			var rej *srp.RejectError
			if !errors.As(err, &rej) || rej.Reason != reason {
				t.Errorf("%v", err)
			}
		})
	}
}
