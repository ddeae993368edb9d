package path

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/test/rig"
	"minisrp/verbs/dispatch"
)

// start submits a command with data for the unit.
func start(r *rig.Rig, cdb interface{ Put(*scsi.CDB) int }, out ...miniport.Segment) *pending {
	p := &pending{s: &miniport.SRB{Data: out}, done: make(chan struct{})}
	for _, d := range out {
		p.s.Direction = miniport.DataOut
		p.s.Length += d.Length
	}
	p.s.CDBLength = uint8(cdb.Put(&p.s.CDB))
	p.s.Done = func(*dispatch.Frame, *miniport.SRB) { close(p.done) }
	u := r.Port.Units()[0]
	var f dispatch.Frame
	r.Processor.Raise(&f)
	u.Submit(&f, p.s)
	f.Lower()
	return p
}

// Many COMPARE AND WRITE that expect the same block are under way at once, among writes beside it: one of them wins,
// whether the target moves the data into the unit's memory or its store does. The others, with sense data in the format
// that MODE SELECT has chosen, are told at which byte.
func TestCompareAndWriteOverFabric(t *testing.T) {
	const block, at, many = 512, 100, 24
	for _, kind := range []string{"ram", "file"} {
		t.Run(kind, func(t *testing.T) {
			var store lun.Store
			var err error
			if kind == "file" {
				store, err = lun.OpenFile(filepath.Join(t.TempDir(), "disk"), lun.FileOptions{Size: 1 << 20})
			} else {
				store, err = lun.NewRAM(1<<20, block)
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := rig.New(t.Context(), rig.Config{Stores: []lun.Store{store}})
			if err != nil {
				t.Fatal(err)
			}
			defer closeRig(t, r)
			region, free, err := r.Memory(t.Context(), 64<<10)
			if err != nil {
				t.Fatal(err)
			}
			defer free()
			memory := region.Bytes()

			control := scsi.ControlPage{QueueAlgorithm: 1, TaskAborted: true, GlobalLogOff: true, DescriptorSense: true}
			list := (&scsi.ModeHeader{}).AppendModeList(memory[:0], false, control.Append(nil))
			p := start(r, &scsi.ModeSelect{PageFormat: true, ParameterListLength: uint16(len(list))}, miniport.Segment{Region: region, Length: uint32(len(list))})
			if <-p.done; p.s.Status != miniport.StatusSuccess {
				t.Fatalf("MODE SELECT: %v", p.s.Status)
			}

			clear(memory)
			var now uint64 // what the block begins with
			for round := range uint64(20) {
				binary.BigEndian.PutUint64(memory, now)
				var all, beside []*pending
				for i := range uint64(many) {
					data := memory[(1+i)*block:][:block]
					binary.BigEndian.PutUint64(data, round<<8|i+1)
					all = append(all, start(r, &scsi.CompareAndWrite{LBA: at, Blocks: 1},
						miniport.Segment{Region: region, Length: block}, miniport.Segment{Region: region, Offset: (1 + i) * block, Length: block}))
					beside = append(beside, start(r, &scsi.RW{Write: true, LBA: at + 1, Blocks: 8}, miniport.Segment{Region: region, Offset: 32 << 10, Length: 8 * block}))
				}
				won := 0
				for i, p := range all {
					if <-p.done; p.s.Status == miniport.StatusSuccess {
						won++
						now = round<<8 | uint64(i) + 1
						continue
					}
					s, err := scsi.ParseSense(p.s.Sense())
					if err != nil || s.Key != scsi.KeyMiscompare || s.ASC != scsi.ASCMiscompare || !s.Descriptor || !s.InformationValid || s.Information > 7 {
						t.Fatalf("round %d: %v, %v, %v", round, p.s.Status, s, err)
					}
				}
				if won != 1 {
					t.Fatalf("round %d: %d have won", round, won)
				}
				for _, p := range beside {
					if <-p.done; p.s.Status != miniport.StatusSuccess {
						t.Fatalf("a write beside: %v", p.s.Status)
					}
				}
			}
		})
	}
}
