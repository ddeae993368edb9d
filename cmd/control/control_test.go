package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"minisrp/cmd/control"
	"minisrp/cmd/control/controltest"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/socket"
)

func TestMain(m *testing.M) {
	// After a request that it could not read, net/http lingers for half a second.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

var update = flag.Bool("update", false, "write the golden files anew")

var quiet = slog.New(slog.DiscardHandler)

// serve serves a source and returns the socket.
func serve(t *testing.T, s control.Source) string { return serveAll(t, s, controltest.FullAdmin()) }

func serveAll(t *testing.T, s control.Source, a control.Admin) string {
	t.Helper()
	path, _ := serveUntil(t, s, a)
	return path
}

// serveUntil serves until the test or stop ends it.
func serveUntil(t *testing.T, s control.Source, a control.Admin) (path string, stop func()) {
	t.Helper()
	return serveFor(t, s, a, -1)
}

// serveFor serves also a group; -1 is none.
func serveFor(t *testing.T, s control.Source, a control.Admin, gid int) (path string, stop func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "c")
	l, err := socket.ListenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(s, a, quiet)
	srv.AllowGroup(gid)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	stop = sync.OnceFunc(func() {
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return path, stop
}

// What goes in on one side comes out on the other, and its JSON does not change by accident: scripts read it.
func TestFormat(t *testing.T) {
	src := controltest.Full()
	c := control.NewClient(serve(t, src))
	for name, call := range map[string]struct {
		want any
		get  func() (any, error)
	}{
		"daemon":    {&src.D, func() (any, error) { return c.Daemon(t.Context()) }},
		"targets":   {&src.T, func() (any, error) { return c.Targets(t.Context()) }},
		"units":     {&src.U, func() (any, error) { return c.Units(t.Context()) }},
		"counters":  {&src.C, func() (any, error) { return c.Counters(t.Context()) }},
		"latencies": {&src.L, func() (any, error) { return c.Latencies(t.Context()) }},
		"clients":   {&src.N, func() (any, error) { return c.Clients(t.Context()) }},
		"hosted":    {&src.H, func() (any, error) { return c.Hosted(t.Context()) }},
	} {
		got, err := call.get()
		if err != nil || !reflect.DeepEqual(got, call.want) {
			t.Errorf("%s: %v\n%+v\n%+v", name, err, got, call.want)
		}
		golden(t, name, call.want)
	}
}

// golden holds the JSON of v against a file.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(old)) != string(b) {
		t.Errorf("%s is not what %s says (%v); a field that changes its meaning or goes needs a new Version", name, file, err)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	src := controltest.Full()
	src.Err = errors.New("the source is dry")
	if _, err := control.NewClient(serve(t, src)).Units(t.Context()); err == nil || !strings.Contains(err.Error(), "the source is dry") ||
		exitcode.Of(err) != exitcode.Failure {
		t.Errorf("a failing source: %v", err)
	}
	if _, err := control.NewClient(filepath.Join(dir, "none")).Units(t.Context()); exitcode.Of(err) != exitcode.NoDaemon {
		t.Errorf("no socket: %v", err)
	}
	left := filepath.Join(dir, "left")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	if _, err := control.NewClient(left).Units(t.Context()); exitcode.Of(err) != exitcode.NoDaemon || !strings.Contains(err.Error(), left) {
		t.Errorf("a socket that was left behind: %v", err)
	}
}

// Answers that no daemon of this version gives.
func TestStrangeAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		code   exitcode.Code
		text   string
	}{
		{200, `{"version": 2, "units": []}`, exitcode.Failure, "format 2"},
		{200, `{"units": []}`, exitcode.Failure, "format 0"},
		{200, `hello`, exitcode.Failure, "not what a daemon says"},
		{200, `{"version": 1, "units": 7}`, exitcode.Failure, "not what a daemon says"},
		{404, `nothing`, exitcode.NotFound, "Not Found"},
		{403, `{"version":1,"error":"no"}`, exitcode.Denied, "no"},
		{500, ``, exitcode.Failure, "Internal Server Error"},
	} {
		_, err := control.NewClient(strange(t, "application/json", c.status, c.body)).Units(t.Context())
		if exitcode.Of(err) != c.code || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
	}
}

// strange serves one answer to everything, and returns the socket.
func strange(t *testing.T, kind string, status int, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})}
	done := make(chan error)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return path
}

// What a server answers to what is not in the format.
func TestBadRequests(t *testing.T) {
	path := serve(t, controltest.Full())
	for request, want := range map[string]string{
		"GET /v1/nothing HTTP/1.0\r\n\r\n":                                         "404",
		"GET /v2/units HTTP/1.0\r\n\r\n":                                           "404",
		"POST /v1/units HTTP/1.0\r\nContent-Length: 0\r\n\r\n":                     "404",
		"GET /v1/../v1/units HTTP/1.0\r\n\r\n":                                     "30",
		"rubbish\r\n\r\n":                                                          "400",
		"GET /v1/units HTTP/1.0\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n": "431",
	} {
		nc, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(nc, request) }()
		b := make([]byte, 12)
		n, _ := io.ReadFull(nc, b)
		_ = nc.Close()
		if got := strings.TrimPrefix(string(b[:n]), "HTTP/1.0 "); !strings.HasPrefix(strings.TrimPrefix(got, "HTTP/1.1 "), want) {
			t.Errorf("%.30q: %q, want %s", request, got, want)
		}
	}
}

// Another user is not answered, though the socket lets everybody connect, unless he is in the group, of whatever kind.
func TestOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to be somebody else")
	}
	const group = 54321
	for _, c := range []struct {
		allowed     int
		first, more int
		want        string
	}{
		{-1, group, group, "403"}, {group, 65534, 65534, "403"}, {group, group, 65534, "200"}, {group, 65534, group, "200"},
	} {
		path, _ := serveFor(t, controltest.Full(), controltest.FullAdmin(), c.allowed)
		for p, mode := range map[string]os.FileMode{path: 0o666, filepath.Dir(path): 0o755, filepath.Dir(filepath.Dir(path)): 0o755} {
			if err := os.Chmod(p, mode); err != nil {
				t.Fatal(err)
			}
		}
		// Linux has credentials for each thread. Connecting does not leave this one, and it ends with the test.
		got := make(chan string)
		go func() {
			lockThread()
			more := []uint32{uint32(c.more)}
			_, _, e1 := syscall.RawSyscall(syscall.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&more[0])), 0)
			_, _, e2 := syscall.RawSyscall(syscall.SYS_SETRESGID, 0, uintptr(c.first), 0)
			_, _, e3 := syscall.RawSyscall(syscall.SYS_SETRESUID, 0, 65534, 0)
			if e1|e2|e3 != 0 {
				got <- fmt.Sprint(e1, e2, e3)
				return
			}
			got <- ask(path)
		}()
		// The server runs as root, so a user that is not root is another.
		if s := <-got; !strings.Contains(s, " "+c.want+" ") || c.want == "403" && !strings.Contains(s, "own user and root") {
			t.Errorf("%+v gets %.300q", c, s)
		}
	}
}
