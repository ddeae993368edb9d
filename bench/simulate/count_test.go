package simulate_test

import (
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/test/rig"
	"minisrp/verbs/dispatch"
)

// counted runs requests on the real path, depth at a time, and returns how many DPCs ran for each.
func counted(t *testing.T, depth, requests int) float64 {
	t.Helper()
	r, err := rig.New(t.Context(), rig.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	region, free, err := r.Memory(t.Context(), depth*4096)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	u := r.Port.Units()[0]
	left, out := requests, 0
	var before, after dispatch.Stats
	finished := make(chan struct{})
	start := func(f *dispatch.Frame, s *miniport.SRB) {
		left--
		out++
		s.CDBLength = uint8((&scsi.RW{LBA: uint64(left%1000) * 8, Blocks: 8}).Put(&s.CDB))
		u.Submit(f, s)
	}
	srbs := make([]miniport.SRB, depth)
	for i := range srbs {
		s := &srbs[i]
		s.Direction, s.Length = miniport.DataIn, 4096
		s.Data = []miniport.Segment{{Region: region, Offset: uint64(i) * 4096, Length: 4096}}
		s.Done = func(f *dispatch.Frame, s *miniport.SRB) {
			if s.Status != miniport.StatusSuccess {
				t.Error(s.Status)
			}
			if out--; left > 0 {
				start(f, s)
			} else if out == 0 {
				after = r.Processor.Stats(f)
				close(finished)
			}
		}
	}
	var kick dispatch.DPC
	kick.Init(r.Processor, func(f *dispatch.Frame) {
		before = r.Processor.Stats(f)
		for i := range srbs {
			start(f, &srbs[i])
		}
	})
	kick.Post()
	<-finished
	return float64(after.Items-before.Items) / float64(requests)
}
