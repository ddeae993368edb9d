package daemon

import (
	"encoding/binary"
	"testing"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
)

// What a unit answers arrives as it is, also that it refuses; what is not on the list is not sent.
func TestSCSI(t *testing.T) {
	w := newLab(t, nil)
	defer func() { stop(t, w.Daemon) }()
	ctx := t.Context()
	ask := func(q control.SCSI) *control.SCSIAnswer {
		t.Helper()
		a, err := w.c.SCSI(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	id := w.Units()[1].Identity
	for _, q := range []control.SCSI{{Unit: "disk1"}, {Unit: id}, {Target: "embedded", LUN: "1"}} {
		q.CDB, q.In = control.Hex{0x12, 0, 0, 0, 96, 0}, 96
		if a := ask(q); a.Status != 0 || a.LUN != "1" || a.Command != "INQUIRY" || string(a.Data[8:15]) != "MINISRP" || a.Sense != nil {
			t.Errorf("%+v", a)
		}
	}
	if a := ask(control.SCSI{Unit: "disk0", CDB: control.Hex{0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0}, In: 32}); a.Residual != 24 || len(a.Data) != 8 || binary.BigEndian.Uint32(a.Data) != 4<<20/512-1 {
		t.Errorf("capacity %+v", a)
	}
	if a := ask(control.SCSI{Unit: "disk0", CDB: control.Hex{0x12, 1, 0x77, 0, 96, 0}, In: 96}); a.Status != 2 || a.Sense == nil ||
		a.Sense.Key != 5 || a.Sense.ASC != 0x24 || a.Sense.KeyText == "" || len(a.Sense.Raw) < 18 || len(a.Data) != 0 {
		t.Errorf("a page that is not there: %+v", a)
	}

	// Register a key, reserve, and read it back.
	out := func(action byte, key, newKey uint64) {
		t.Helper()
		list := make([]byte, 24)
		binary.BigEndian.PutUint64(list, key)
		binary.BigEndian.PutUint64(list[8:], newKey)
		a := ask(control.SCSI{Unit: "disk0", CDB: control.Hex{0x5f, action, 1, 0, 0, 0, 0, 0, 24, 0}, Out: list})
		if a.Status != 0 || a.Residual != 0 {
			t.Errorf("action %d: %+v", action, a)
		}
	}
	out(0, 0, 0xabc)
	out(1, 0xabc, 0)
	if a := ask(control.SCSI{Unit: "disk0", CDB: control.Hex{0x5e, 1, 0, 0, 0, 0, 0, 0, 24, 0}, In: 24}); len(a.Data) != 24 || binary.BigEndian.Uint64(a.Data[8:]) != 0xabc {
		t.Errorf("reservation %+v", a)
	}
	out(3, 0xabc, 0)

	for _, c := range []struct {
		q    control.SCSI
		code exitcode.Code
		text string
	}{
		{control.SCSI{Unit: "disk0", CDB: control.Hex{0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0}, Out: make([]byte, 512)}, exitcode.Denied, "WRITE(10): want one of"},
		{control.SCSI{Unit: "disk9", CDB: control.Hex{0, 0, 0, 0, 0, 0}}, exitcode.NotFound, `no unit "disk9"`},
		{control.SCSI{Target: "nobody", LUN: "0", CDB: control.Hex{0, 0, 0, 0, 0, 0}}, exitcode.NotFound, `no target "nobody"`},
		{control.SCSI{Target: "embedded", LUN: "x", CDB: control.Hex{0, 0, 0, 0, 0, 0}}, exitcode.Usage, "lun"},
		{control.SCSI{Target: w.spare, LUN: "0", CDB: control.Hex{0, 0, 0, 0, 0, 0}}, exitcode.NotFound, "no target"},
	} {
		_, err := w.c.SCSI(ctx, c.q)
		w.fails(err, c.code, c.text)
	}
}

// A function is done at each path of a unit, and the disk works on.
func TestTask(t *testing.T) {
	w := newLab(t, nil)
	defer func() { stop(t, w.Daemon) }()
	ctx := t.Context()
	for _, fn := range control.TaskFunctions {
		a, err := w.c.Task(ctx, control.Task{Function: fn, Unit: "disk0"}, w.follow)
		if err != nil || len(a.Paths) != 1 || !a.Paths[0].Done || a.Paths[0].Target != "embedded" || a.Paths[0].Response == "" {
			t.Errorf("%s: %+v, %v", fn, a, err)
		}
	}
	if _, err := w.c.Reconnect(ctx, control.Reconnect{Target: "embedded", Now: true}, nil); err != nil {
		t.Error(err)
	}
	if a, err := w.c.Task(ctx, control.Task{Function: control.UnitReset, Target: "embedded", LUN: "9"}, nil); exitcode.Of(err) != exitcode.NotFound {
		t.Errorf("at no unit: %+v, %v", a, err)
	}
	c, err := w.c.Targets(ctx)
	if err != nil || len(c.Targets[0].Channels) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	if x := c.Targets[0].Channels[0]; x.State != "up" || x.QPN == 0 || x.Depth != 8 || x.Credits.Limit < 9 || x.Credits.Least < 0 || x.Credits.Least >= x.Credits.Limit {
		t.Errorf("channel %+v", x)
	}
	l, err := w.c.Latencies(ctx)
	if err != nil || len(l.Disks) != 2 || l.Disks[0].Name != "disk0" {
		t.Errorf("%+v, %v", l, err)
	}
	h, err := w.c.Hosted(ctx)
	if err != nil || len(h.Targets) != 2 || len(h.Targets[0].Sessions) != 1 || h.Targets[0].Sessions[0].Initiator != c.Targets[0].Initiator {
		t.Errorf("%+v, %v", h, err)
	}
	_, err = w.c.AcceptLoss(ctx, control.AcceptLoss{Export: "nothing"})
	w.fails(err, exitcode.NotFound, "nothing")
	if x, err := w.c.AcceptLoss(ctx, control.AcceptLoss{Export: "disk0"}); err != nil || x.Lost {
		t.Errorf("%+v, %v", x, err)
	}
}
