package export_test

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"minisrp/cmd/srpd/export"
	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/socket"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
	"minisrp/test/need"
	"minisrp/verbs/dispatch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a disk of RAM on processors of its own.
func open(t *testing.T, cfg disktest.Config, processors int) (*export.Backend, *disktest.Unit, *disktest.Port) {
	t.Helper()
	var all []*dispatch.Processor
	for range processors {
		p := dispatch.New("test")
		t.Cleanup(p.Close)
		all = append(all, p)
	}
	unit, port := disktest.NewUnit(all[0], cfg), disktest.NewPort(all...)
	d, err := disk.Open(t.Context(), unit, port, disk.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if n := port.Regions(); n != 0 {
			t.Errorf("%d regions are left", n)
		}
	})
	return export.New(d, port), unit, port
}

func TestInfo(t *testing.T) {
	for _, c := range []struct {
		cfg  disktest.Config
		want nbd.Info
	}{
		{disktest.Config{
			Capacity:        scsi.Capacity{LastLBA: 2047, BlockSize: 512, PhysicalExponent: 3},
			Characteristics: &scsi.BlockCharacteristics{RotationRate: 7200},
		},
			nbd.Info{Size: 1 << 20, LogicalBlock: 512, PhysicalBlock: 4096, Rotational: true, CanFUA: true, CanWriteZeroes: true}},
		{disktest.Config{Capacity: scsi.Capacity{LastLBA: 255, BlockSize: 4096}, WriteProtected: true},
			nbd.Info{Size: 1 << 20, LogicalBlock: 4096, PhysicalBlock: 4096, ReadOnly: true, CanFUA: true, CanWriteZeroes: true}},
		{disktest.Config{
			Capacity:        scsi.Capacity{LastLBA: 2047, BlockSize: 512, Provisioned: true, ReadsZeros: true},
			Characteristics: &scsi.BlockCharacteristics{RotationRate: scsi.RotationSolid},
			Limits:          &scsi.BlockLimits{MaxUnmapBlocks: 1 << 20, MaxUnmapDescriptors: 16},
			Provisioning:    &scsi.Provisioning{Unmap: true, ReadZeros: 1}, LBAStatus: true, Prefetch: true,
		}, nbd.Info{
			Size: 1 << 20, LogicalBlock: 512, PhysicalBlock: 512, CanFUA: true, CanUnmap: true, CanWriteZeroes: true,
			CanCache: true, Extents: true,
		}},
	} {
		if b, _, _ := open(t, c.cfg, 1); b.Info() != c.want {
			t.Errorf("%+v\nwant %+v", b.Info(), c.want)
		}
	}
}

// Connections take turns on the processors.
func TestProcessor(t *testing.T) {
	b, _, port := open(t, disktest.Config{Capacity: scsi.Capacity{LastLBA: 7, BlockSize: 512}}, 3)
	for i := range 7 {
		if p := b.Processor(); p != port.Processors()[i%3] {
			t.Errorf("connection %d is on %s", i, p.Name())
		}
	}
}

// qemu-io writes, flushes and reads through the server, on one processor and on two.
func TestQemuIO(t *testing.T) {
	qemu := need.Tool(t, "qemu-io")
	for _, processors := range []int{1, 2} {
		b, unit, _ := open(t, disktest.Config{
			Capacity: scsi.Capacity{LastLBA: 16<<11 - 1, BlockSize: 512}, WriteCache: true, DPOFUA: true,
		}, processors)
		s, err := nbd.NewServer(nbd.Config{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(nbd.Export{Name: "x", Backend: b}); err != nil {
			t.Fatal(err)
		}
		l, err := socket.ListenUnix(filepath.Join(t.TempDir(), "s"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- s.Serve(l) }()
		args := []string{"-f", "raw", "-t", "none"}
		for _, c := range []string{
			"write -P 0xaa 0 4M", "write -f -P 0xbb 4M 64k", "flush", "read -P 0xaa 0 4M", "read -P 0xbb 4M 64k",
			"write -z 0 128k", "read -P 0 0 128k", "discard 512k 64k", "aio_write -P 0xcc 8M 2M", "aio_flush", "read -P 0xcc 8M 2M",
		} {
			args = append(args, "-c", c)
		}
		out, err := exec.Command(qemu, append(args, nbd.URI(&net.UnixAddr{Name: l.Addr().String(), Net: "unix"}, "x"))...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "rror") || strings.Contains(string(out), "failed") {
			t.Errorf("%d processors: %v\n%s", processors, err, out)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if string(unit.Data) != string(unit.Durable) {
			t.Error("after Shutdown something is not durable")
		}
	}
}
