package nbd_test

import (
	"context"
	"strings"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/scsi/disk"
)

// Once the disk has lost writes every flush fails, until all who may rely on them know and have left, or an operator
// says so.
func TestLossAccepted(t *testing.T) {
	type step func(t *testing.T, s *server, d *nbdtest.RAM)
	var a, b *client // of the running case
	join := func(c **client, name string) step {
		return func(t *testing.T, s *server, d *nbdtest.RAM) { *c = s.dial(t); (*c).enter(name, simple) }
	}
	writes := func(c **client) step {
		return func(*testing.T, *server, *nbdtest.RAM) {
			(*c).request(0, write, 1, 0, 512, make([]byte, 512))
			(*c).want(0, 1)
		}
	}
	flushes := func(c **client, errno uint32) step {
		return func(*testing.T, *server, *nbdtest.RAM) {
			(*c).request(0, flush, 2, 0, 0)
			(*c).want(errno, 2)
		}
	}
	lose := func(t *testing.T, s *server, d *nbdtest.RAM) { d.LoseWrites() }
	left := func(t *testing.T, s *server, n int64) {
		eventually(t, "it has left", func() bool {
			st := s.Stats()
			return st.Exports[0].Connections+st.Exports[1].Connections == n && int64(st.Connections) == n
		})
	}
	leaves := func(c **client, rest int64) step {
		return func(t *testing.T, s *server, d *nbdtest.RAM) {
			(*c).request(0, disc, 0, 0, 0)
			(*c).eof()
			left(t, s, rest)
		}
	}
	vanishes := func(c **client, rest int64) step {
		return func(t *testing.T, s *server, d *nbdtest.RAM) {
			_ = (*c).Close()
			left(t, s, rest)
		}
	}
	const ok, eio = 0, 5
	for _, c := range []struct {
		name  string
		steps []step
		want  uint32 // a flush of somebody who comes afterwards
	}{
		{"told, and left", []step{join(&a, "x"), lose, flushes(&a, eio), leaves(&a, 0)}, ok},
		{"told, and vanished", []step{join(&a, "x"), lose, flushes(&a, eio), vanishes(&a, 0)}, ok},
		{"told twice", []step{join(&a, "x"), lose, flushes(&a, eio), flushes(&a, eio)}, eio},
		{"left without a flush", []step{join(&a, "x"), lose, writes(&a), leaves(&a, 0)}, eio},
		{"another is still there", []step{join(&a, "x"), join(&b, "alias"), lose, flushes(&a, eio), leaves(&a, 1)}, eio},
		{"the other has said goodbye", []step{join(&a, "x"), join(&b, "alias"), lose, flushes(&a, eio), leaves(&a, 1), leaves(&b, 0)}, ok},
		{"the other has vanished, and may come back", []step{join(&a, "x"), join(&b, "alias"), writes(&b), lose, vanishes(&b, 1), flushes(&a, eio), leaves(&a, 0)}, eio},
		{"the other has vanished, but wrote nothing", []step{join(&a, "x"), join(&b, "alias"), lose, vanishes(&b, 1), flushes(&a, eio), leaves(&a, 0)}, ok},
		{"the other has vanished before, and what it wrote is durable", []step{join(&a, "x"), join(&b, "alias"), writes(&b), vanishes(&b, 1), lose, flushes(&a, eio), leaves(&a, 0)}, ok},
		{"an operator", []step{join(&a, "x"), lose, writes(&a), vanishes(&a, 0), func(t *testing.T, s *server, d *nbdtest.RAM) {
			if was, err := s.AcceptLoss("alias"); !was || err != nil {
				t.Errorf("%t, %v", was, err)
			}
			if was, err := s.AcceptLoss("alias"); was || err != nil {
				t.Errorf("%t, %v", was, err)
			}
			if _, err := s.AcceptLoss("none"); err == nil {
				t.Error("of an export that is not there")
			}
		}}, ok},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := ram(t, nbdtest.Disk(mib), nbdtest.Cached())
			s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: d}, nbd.Export{Name: "alias", Backend: d})
			s.failing = c.want != ok
			for _, do := range c.steps {
				do(t, s, d)
			}
			k := s.dial(t)
			k.enter("x", simple)
			k.request(0, flush, 3, 0, 0)
			k.want(c.want, 3)
			if said := strings.Contains(s.log.String(), "loss of acknowledged writes is accepted"); said != (c.want == ok) {
				t.Errorf("the log says so: %t\n%s", said, s.log)
			}
		})
	}
}

// What a client wrote that has gone away without a word is made durable.
func TestVanishedClientIsFlushed(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib), nbdtest.Cached())
	s := serve(t, nbd.Config{}, nbd.Export{Backend: d})
	k := s.dial(t)
	k.enter("", simple)
	p := pattern(4096, 6)
	k.request(0, write, 1, 0, 4096, p)
	k.want(0, 1)
	_ = k.Close()
	eventually(t, "it is durable", func() bool { return string(d.Durable()[:4096]) == string(p) })
	if n := d.Count(disk.Flush); n != 1 {
		t.Errorf("%d flushes", n)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
