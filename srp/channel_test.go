package srp_test

import (
	"bytes"
	"testing"

	"minisrp/srp"
	"minisrp/verbs"
)

func fill(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*7 + seed)
	}
}

func TestReadUnderAWindow(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	r := newRequest().with(srp.DataIn, w.init.segment(4096, 64<<10))
	w.start(c, r)
	cmd := e.command()
	if cmd.DataIn.Format != srp.DataDirect || cmd.DataOut.Format != srp.DataNone {
		t.Fatalf("buffers %+v, %+v", cmd.DataIn, cmd.DataOut)
	}
	fill(w.target.mem[dataOff:][:64<<10], 1)
	if s := e.rdma(verbs.Write, cmd.DataIn.Desc); s != verbs.Success {
		t.Fatal(s)
	}
	r.ended(t, 0, 0)
	e.send(good(cmd.Tag))
	r.ended(t, 1, srp.Completed)
	if r.Status != 0 || r.Transferred != 64<<10 || !bytes.Equal(w.target.mem[dataOff:][:64<<10], w.init.mem[4096:][:64<<10]) {
		t.Errorf("status %v, %d bytes", r.Status, r.Transferred)
	}
	// The key is of no use any more: the target's access ends its channel.
	if s := e.rdma(verbs.Write, cmd.DataIn.Desc); s != verbs.RemAccessErr {
		t.Errorf("late write: %v", s)
	}
}

func TestWriteUnderAWindow(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	fill(w.init.mem, 3)
	r := newRequest().with(srp.DataOut, w.init.segment(100, 5000), w.init.segment(9000, 1), w.init.segment(20000, 3000), w.init.segment(23000, 8))
	w.start(c, r)
	cmd := e.command()
	out := &cmd.DataOut
	if out.Format != srp.DataIndirect || !out.Complete() || out.List.Len() != 3 || out.Length != 8009 {
		t.Fatalf("%+v", out)
	}
	var got []byte
	for i := range out.List.Len() {
		if s := e.rdma(verbs.Read, out.List.At(i)); s != verbs.Success {
			t.Fatal(s)
		}
		got = append(got, w.target.mem[dataOff:][:out.List.At(i).Len]...)
	}
	want := bytes.Join([][]byte{w.init.mem[100:5100], w.init.mem[9000:9001], w.init.mem[20000:23008]}, nil)
	if !bytes.Equal(got, want) {
		t.Error("bytes differ")
	}
	e.send(good(cmd.Tag))
	r.ended(t, 1, srp.Completed)
}
