package nbd

import (
	"net"
	"testing"
)

// skipping is TLS as far as records go: those that begin with k carry no data.
type skipping struct {
	tlsConn
	w *wire
}

func (s skipping) Read(b []byte) (int, error) {
	for {
		var r [recordHeader + 1]byte
		for n := 0; n < len(r); {
			k, err := s.w.Read(r[n:])
			if n += k; err != nil {
				return 0, err
			}
		}
		if r[recordHeader] != 'k' {
			return copy(b, r[recordHeader:]), nil
		}
	}
}

// Data that have come are not held back while more is waited for, also when a record without any is behind them.
func TestReadBeforeChangeOfKeys(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	w := newWire(server, nil)
	s := &secure{tls: skipping{w: w}, wire: w}
	sent := make(chan error, 1)
	b := make([]byte, 100)
	for _, want := range []string{"a", "bc", "d"} {
		var records []byte
		for _, c := range []byte(want + "k") {
			records = append(records, 23, 3, 3, 0, 1, c)
		}
		go func() { _, err := client.Write(records); sent <- err }()
		n, err := s.read([][]byte{b[:1], b[1:]})
		if err != nil || string(b[:n]) != want {
			t.Fatalf("%q, %v; want %q", b[:n], err, want)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
}
