package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
	"minisrp/cmd/srpd/hold"
	"minisrp/cmd/srpd/state"
	"minisrp/scsi/disk"
	"minisrp/srp"
	"minisrp/verbs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config(dir string) Config {
	return Config{
		Embedded: []Embedded{{Name: DefaultName, Required: true, Units: []Unit{{Store: embedded.RAM, Size: 4 << 20}, {Store: embedded.RAM, Size: 4 << 20}}}},
		Channels: 1, QueueSize: 8, Protect: "io", Budget: 64,
		StateDir: filepath.Join(dir, "s"), Socket: filepath.Join(dir, "n"), Control: filepath.Join(dir, "c"),
		Program: "test", Log: slog.New(slog.DiscardHandler),
	}
}

func stop(t *testing.T, d *Daemon) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := d.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// Start and Stop, again and again on the same directory, leave no goroutine (TestMain looks) and no error.
func TestStartStop(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		cfg := config(dir)
		cfg.Channels = 1 + i
		d, err := Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if d.Processors() != 1+i || len(d.Exports()) != 4 {
			t.Errorf("%d processors, exports %+v", d.Processors(), d.Exports())
		}
		u, err := control.NewClient(cfg.Control).Units(t.Context())
		if err != nil || len(u.Units) != 2 || u.Units[1].Name != "disk1" {
			t.Errorf("units %+v, %v", u, err)
		}
		stop(t, d)
	}
}

// A start that fails, at whatever point, leaves nothing that keeps the next one from succeeding.
func TestFailedStarts(t *testing.T) {
	dir := t.TempDir()
	for i, spoil := range []func(*Config){
		func(c *Config) { c.Embedded[0].Faults = []string{"reject=0x00010001"} },
		func(c *Config) { c.Embedded[0].Faults = []string{"capacity=0"} },
		func(c *Config) { c.Embedded[0].Faults = []string{"mood"} },
		func(c *Config) { c.LUNs = []int{5} },
		func(c *Config) { c.Targets = []Target{{Login: "id_ext=1,ioc_guid=2,dest=192.0.2.2:7", Required: true}} },
		func(c *Config) {
			c.Targets = []Target{{Login: "id_ext=1,ioc_guid=2,dest=203.0.113.1:5555", Required: true}}
		},
		func(c *Config) { c.TCP = "203.0.113.1:10809" }, // nobody's address here
		func(c *Config) { c.Embedded[0].Units[1].Size = 1 << 60 },
	} {
		cfg := config(dir)
		spoil(&cfg)
		if d, err := Start(t.Context(), cfg); err == nil {
			stop(t, d)
			t.Errorf("start %d succeeded", i)
		}
		d, err := Start(t.Context(), config(dir))
		if err != nil {
			t.Fatalf("after failed start %d: %v", i, err)
		}
		stop(t, d)
	}
}

// A context that ends at any time ends the start, and leaves nothing.
func TestCancelledStarts(t *testing.T) {
	dir := t.TempDir()
	for i := range 25 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*2*time.Millisecond)
		d, err := Start(ctx, config(dir))
		if err == nil {
			stop(t, d)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %d ms: %v", 2*i, err)
		}
		cancel()
	}
	d, err := Start(t.Context(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	stop(t, d)
}

// A client that takes no replies holds Stop up for as long as it may take, and no longer; the error says so.
func TestStopInTime(t *testing.T) {
	d, err := Start(t.Context(), config(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	nc, err := net.Dial("unix", d.cfg.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	greeting := make([]byte, 18)
	if _, err := io.ReadFull(nc, greeting); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write([]byte("\x00\x00\x00\x03IHAVEOPT\x00\x00\x00\x01\x00\x00\x00\x05disk0")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(nc, greeting[:10]); err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		// A read of 1 MiB at 0.
		b := binary.BigEndian.AppendUint32(nil, 0x25609513)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 0), uint64(i))
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, 0), 1<<20)
		if _, err := nc.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	// The start of the first reply says that the daemon is in the middle of writing it, which no socket buffer takes.
	if _, err := io.ReadFull(nc, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := d.Stop(ctx); exitcode.Of(err) != exitcode.Unclean || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	stop(t, d) // the rest, for those that come after this test
}

// The table of meanings: each kind of error has its code, however it is wrapped.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err  error
		want exitcode.Code
	}{
		{nil, exitcode.OK},
		{errors.New("anything"), exitcode.Failure},
		{&hold.InUseError{What: "x"}, exitcode.InUse},
		{&state.DatabaseError{Path: "x", Err: state.ErrSpace}, exitcode.State},
		{&srp.OptionError{Option: "x"}, exitcode.Usage},
		{&srp.RejectError{Reason: srp.RejectChannelLimit}, exitcode.Rejected},
		{&srp.RejectError{CM: verbs.RejectInvalidServe}, exitcode.Unreachable},
		{&srp.RejectError{CM: verbs.RejectNoResources}, exitcode.Rejected},
		{&verbs.OpError{Op: "connect", Object: "x", Err: verbs.ErrNoRoute}, exitcode.Unreachable},
		{verbs.ErrTimeout, exitcode.Unreachable},
		{disk.ErrNoCapacity, exitcode.Unusable},
		{fs.ErrPermission, exitcode.Denied},
		{&net.DNSError{Name: "nohost"}, exitcode.Usage},
		{unix.EFBIG, exitcode.Usage},
		{embedded.ErrImage, exitcode.Unusable},
	} {
		for _, err := range []error{c.err, fmt.Errorf("outer: %w", c.err), errors.Join(c.err, nil)} {
			if c.err == nil {
				err = nil
			}
			if got := exitcode.Of(explain(err)); got != c.want {
				t.Errorf("%v: %d, want %d", err, got, c.want)
			}
		}
	}
}

func TestLoopback(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "10809": "127.0.0.1:10809", ":10809": "127.0.0.1:10809", "0.0.0.0:1": "0.0.0.0:1", "[::1]:2": "[::1]:2", "host:3": "host:3",
	} {
		if got, err := Loopback(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"host", "host:", "-1", "70000", "1:2:3", "host:http"} {
		if got, err := Loopback(in); err == nil || !strings.Contains(err.Error(), in) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}
