package nbd_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// FuzzTransmission: whatever a client sends after the negotiation, it is answered
// in well-formed chunks or cut off, and all memory comes back.
func FuzzTransmission(f *testing.F) {
	out, _ := batch(512, 3)
	f.Add(out)
	long, _ := batch(64<<10, 1)
	f.Add(long[:len(long)/2])
	f.Add(append(out[:28:28], make([]byte, 60)...))
	d := ram(f, nbdtest.Disk(mib))
	s := serve(f, nbd.Config{ConnMemory: 2 * mib, MemoryLimit: 64 * mib}, nbd.Export{Backend: d})
	f.Fuzz(func(t *testing.T, in []byte) {
		k := s.dial(t)
		defer k.Close()
		k.enter("", structured)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = k.Write(in) // fails when the server has cut us off
			_ = k.Conn.(*net.UnixConn).CloseWrite()
		}()
		got, err := io.ReadAll(k)
		<-sent
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Fatalf("no end within %v", limit)
		}
		for err == nil && len(got) > 0 {
			switch binary.BigEndian.Uint32(got) {
			case 0x67446698:
				got = got[16:]
			case 0x668e33ef:
				got = got[20+binary.BigEndian.Uint32(got[16:]):]
			default:
				t.Fatalf("%d bytes sent that are no reply: %.64x", len(got), got)
			}
		}
		end := time.Now().Add(limit)
		for x := s.Stats().Exports[0]; x.MemoryGets != x.MemoryPuts; x = s.Stats().Exports[0] {
			if time.Now().After(end) {
				t.Fatalf("memory was not given back: %+v", x)
			}
		}
	})
}
