package nbd_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/scsi/disk"
)

// Requests that are longer than a connection's memory, of many clients at once, are served when there is no memory but
// that of the connections.
func TestPieces(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		const clients, n = 4, 5*mib + 512
		s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: clients * 2 * mib},
			nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(clients*6*mib), opts...)})
		var all sync.WaitGroup
		for i := range clients {
			k := s.dial(t)
			k.enter("x", []style{structured, extended}[i%2])
			all.Go(func() {
				at, want := uint64(i*6*mib), pattern(n, byte(i))
				k.request(0, write, 1, at, n, want)
				if a := k.answer(0); a.errno != 0 || a.kind != kindNone || a.cookie != 1 {
					t.Errorf("write: error %d of kind %#x to cookie %d", a.errno, a.kind, a.cookie)
					return
				}
				k.request(0, read, 2, at, n)
				if a := k.answer(n); a.errno != 0 || a.cookie != 2 || a.at != at || !bytes.Equal(a.data, want) {
					t.Errorf("read: error %d, cookie %d, %d bytes at %d, which are not those that were written", a.errno, a.cookie, len(a.data), a.at)
				}
			})
		}
		all.Wait()
		eventually(t, "all is counted once", func() bool {
			x := s.Stats().Exports[0]
			return x.Reads == clients && x.Writes == clients && x.BytesRead == clients*n && x.BytesWritten == clients*n
		})
	})
}

// More requests in pieces than there may be wait for each other.
func TestManyPieces(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		s := serve(t, nbd.Config{ConnMemory: 2 * mib}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(8*mib), opts...)})
		k := s.dial(t)
		k.enter("x", structured)
		const n = 6
		go func() { // the server reads nothing more while replies fill the socket
			for i := range uint64(n) {
				k.request(0, read, i, 0, 2*mib)
			}
		}()
		left := map[uint64]int{}
		for i := range uint64(n) {
			left[i] = 2 * mib
		}
		for len(left) > 0 {
			a, last := k.chunk(0)
			if left[a.cookie] -= len(a.data); left[a.cookie] < 0 || last != (left[a.cookie] == 0) || a.errno != 0 {
				t.Fatalf("%d bytes to cookie %d, error %d, last %v, leave %d", len(a.data), a.cookie, a.errno, last, left[a.cookie])
			}
			if last {
				delete(left, a.cookie)
			}
		}
	})
}

// A piece that fails fails its request, which has one reply, and nothing else.
func TestPieceFails(t *testing.T) {
	each(t, func(t *testing.T, opts ...nbdtest.Option) {
		fault := nbdtest.Fault(func(r *disk.Request) error {
			if r.Offset == 2*mib {
				return disk.ErrMedium
			}
			return nil
		})
		s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: ram(t, nbdtest.Disk(8*mib), append(opts, fault)...)})
		for _, y := range []style{simple, structured, extended} {
			k := s.dial(t)
			k.enter("x", y)
			k.request(0, write, 1, 0, 4*mib, make([]byte, 4*mib))
			if a := k.answer(0); a.errno != 5 || a.cookie != 1 {
				t.Errorf("%v: write: error %d to cookie %d", y, a.errno, a.cookie)
			}
			if y != simple { // whose reply says first how the read went
				k.request(0, read, 2, 0, 4*mib)
				var got []uint64
				for last := false; !last; {
					var a answer
					if a, last = k.chunk(0); a.cookie != 2 || a.errno != 0 && a.errno != 5 {
						t.Fatalf("%v: error %d to cookie %d", y, a.errno, a.cookie)
					} else if a.errno == 0 {
						got = append(got, a.at)
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, []uint64{0, mib, 3 * mib}) {
					t.Errorf("%v: the reply has what is at %d", y, got)
				}
			}
			k.request(0, read, 3, 0, 512)
			k.wantData(512, 3)
		}
	})
}

// A read under way is answered whole when the server ends; a write that is not all there is not answered.
func TestPiecesAtTheEnd(t *testing.T) {
	d := ram(t, nbdtest.Disk(8*mib))
	s := serve(t, nbd.Config{ConnMemory: 2 * mib}, nbd.Export{Name: "x", Backend: d})
	r, w := s.dial(t), s.dial(t)
	r.enter("x", structured)
	w.enter("x", structured)
	d.Hold()
	r.request(0, read, 1, 0, 8*mib)
	eventually(t, "the disk has the first piece", func() bool { return d.Held() == 1 })
	w.request(0, write, 2, 0, 8*mib, make([]byte, mib))
	eventually(t, "and that of the write", func() bool { return d.Held() == 2 })
	ended := make(chan error)
	go func() { ended <- s.Shutdown(context.Background()) }()
	eventually(t, "the server stops", func() bool { return len(s.Stats().Exports) == 0 })
	d.Release()
	r.wantData(8*mib, 1)
	w.eof()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Contains(s.log.String(), "ERROR") {
		t.Errorf("the log has an error:\n%s", s.log)
	}
}
