package nbd_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// A refusal comes after the payload, not while the client is sending it.
func TestRefusalWaitsForPayload(t *testing.T) {
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, ClientMemory: 16 * mib},
		nbd.Export{Name: "rw", Backend: ram(t, nbdtest.Disk(8*mib))},
		nbd.Export{Name: "ro", Backend: ram(t, nbdtest.Disk(8*mib)), ReadOnly: true})
	for _, c := range []struct {
		name, export string
		at           uint64
		n            int
		want         uint32
	}{
		{"read-only", "ro", 0, 4 * mib, 1},
		{"short and read-only", "ro", 0, 4096, 1},
		{"past the end", "rw", 6 * mib, 4 * mib, 28},
		{"not aligned", "rw", 1, 4 * mib, 22},
	} {
		for _, y := range []style{simple, structured, extended} {
			t.Run(c.name+"/"+y.String(), func(t *testing.T) {
				k := s.dial(t)
				k.enter(c.export, y)
				p := make([]byte, c.n)
				k.request(0, write, 5, c.at, uint64(c.n), p[:c.n-1])
				_ = k.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				if n, err := k.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("with a byte to go there are %d bytes of an answer, %v", n, err)
				}
				_ = k.SetReadDeadline(time.Now().Add(limit))
				k.send(p[c.n-1:])
				k.want(c.want, 5)
				k.request(0, read, 6, 0, 512)
				k.wantData(512, 6)
			})
		}
	}
	// One that leaves in the middle of a payload that is refused.
	k := s.dial(t)
	k.enter("ro", simple)
	k.request(0, write, 5, 0, 4096, make([]byte, 100))
	_ = k.Close()
	eventually(t, "its memory is back", func() bool {
		x := s.Stats().Exports[0]
		return x.MemoryGets == x.MemoryPuts
	})
}

// libnbd takes a reply to what it is still sending for one to nothing, and gives the connection up.
func TestLibnbdRefusal(t *testing.T) {
	needsPython(t)
	s := serve(t, nbd.Config{},
		nbd.Export{Name: "rw", Backend: ram(t, nbdtest.Disk(32*mib))},
		nbd.Export{Name: "ro", Backend: ram(t, nbdtest.Disk(32*mib)), ReadOnly: true})
	for _, c := range []struct{ export, at, errno string }{
		{"ro", "0", "EPERM"}, {"rw", "17 << 20", "ENOSPC"}, {"rw", "1", "EINVAL"},
	} {
		out := run(t, python, "-m", "nbd", "-c", `
import errno
h.set_strict_mode(0)
h.connect_uri("`+s.uri(c.export)+`")
for i in range(3):
    try:
        h.pwrite(b"x" * (16 << 20), `+c.at+`)
        print("no error")
    except nbd.Error as e:
        print(errno.errorcode[e.errnum])
    assert len(h.pread(512, 0)) == 512
h.shutdown()`)
		if got := strings.Fields(out); strings.Join(got, " ") != strings.Repeat(c.errno+" ", 2)+c.errno {
			t.Errorf("%s: libnbd says %q, want %s", c.export, out, c.errno)
		}
	}
}
