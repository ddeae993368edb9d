package nbd_test

import (
	"context"
	"flag"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// storm is how many clients come and go.
var storm = flag.Int("storm", 2000, "clients of the storm of connections")

// Clients that come and go at any point, while an export comes and goes, leave nothing behind: no connection, no memory,
// no descriptor (goroutines are TestMain's affair).
func TestConnectDisconnectStorm(t *testing.T) {
	d, brief := ram(t, nbdtest.Disk(mib), nbdtest.Async()), ram(t, nbdtest.Disk(mib))
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 64 * mib}, nbd.Export{Name: "x", Backend: d})
	before := descriptors(t)
	const workers = 4
	n := *storm / workers
	stop := make(chan struct{})
	var clients, exports sync.WaitGroup
	exports.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Add(nbd.Export{Name: "y", Backend: brief}); err != nil {
				t.Error(err)
				return
			}
			if err := s.Remove(context.Background(), "y"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for w := range workers {
		clients.Go(func() {
			for i := range n {
				if !visit(t, s.path, (i+w)%6, "xy"[i%2:][:1]) {
					return
				}
			}
		})
	}
	clients.Wait()
	close(stop)
	exports.Wait()
	eventually(t, "all have gone", func() bool {
		st := s.Stats()
		x := st.Exports[0]
		return st.Accepted == uint64(workers*n) && st.Connections == 0 && len(st.Exports) == 1 && x.MemoryGets == x.MemoryPuts
	})
	eventually(t, "no descriptor is left", func() bool { return descriptors(t) <= before })
}

// visit is a client that gives up after some steps: while it connects, in the negotiation, with a write half sent,
// before the reply to a read, in the middle of one, or after a goodbye.
func visit(t *testing.T, path string, steps int, export string) bool {
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Error(err)
		return false
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(limit))
	none := strings.Repeat("\x00", 18)
	for i, part := range []string{
		"\x00\x00\x00\x03IHAVE",
		"OPT\x00\x00\x00\x07\x00\x00\x00\x07\x00\x00\x00\x01" + export + "\x00\x00", // GO
		"\x25\x60\x95\x13\x00\x00\x00\x01" + none + "\x10\x00" + strings.Repeat("x", 4096),
		"\x25\x60\x95\x13\x00\x00\x00\x00" + none + "\x10\x00",
		"\x25\x60\x95\x13\x00\x00\x00\x02" + none + "\x00\x00",
	} {
		if i >= steps {
			return true
		}
		_, _ = io.WriteString(nc, part) // the server may have had enough of it
		if i == 3 && steps == 4 {
			_, _ = io.ReadFull(nc, make([]byte, 200))
		}
	}
	_, _ = io.Copy(io.Discard, nc)
	return true
}

// descriptors counts the process's.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc/self/fd")
	}
	return len(all)
}
