package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"minisrp/cmd/control"
	"minisrp/cmd/control/controltest"
	"minisrp/cmd/exitcode"
)

// verb is a request of every kind, and what its answer is.
type verb struct {
	name   string
	asked  any
	answer any
	ask    func(context.Context, *control.Client, control.Progress) (any, error)
}

func verbs(a *controltest.Admin) []verb {
	add := control.AddTarget{
		Version: 1, Login: "id_ext=3,ioc_guid=4,dest=192.0.2.9:5555", Channels: 2, QueueSize: 32, LUNs: []int{0, 1},
		Keep: true, DryRun: true, Idempotent: true,
	}
	remove := control.RemoveTarget{Version: 1, Target: "far", Force: true, DryRun: true, Idempotent: true}
	rescan := control.Rescan{Version: 1, Target: "far"}
	logout := control.Logout{Version: 1, Target: "far", Force: true, DryRun: true, Idempotent: true}
	reconnect := control.Reconnect{Version: 1, Target: "far", Now: true, Force: true, DryRun: true}
	scsi := control.SCSI{Version: 1, Unit: "disk0", CDB: control.Hex{0x12, 0, 0, 0, 96, 0}, In: 96, Timeout: 1000}
	task := control.Task{Version: 1, Function: control.UnitReset, Target: "embedded", LUN: "0"}
	faults := control.SetFaults{Version: 1, Target: "embedded", Rules: "delay=50ms,op=read"}
	loss := control.AcceptLoss{Version: 1, Export: "disk0"}
	type C = control.Client
	type P = control.Progress
	return []verb{
		{"add", &add, &a.Change, func(ctx context.Context, c *C, p P) (any, error) { return c.Add(ctx, add, p) }},
		{"remove", &remove, &a.Change, func(ctx context.Context, c *C, p P) (any, error) { return c.Remove(ctx, remove, p) }},
		{"rescan", &rescan, &a.Change, func(ctx context.Context, c *C, p P) (any, error) { return c.Rescan(ctx, rescan, p) }},
		{"logout", &logout, &a.Change, func(ctx context.Context, c *C, p P) (any, error) { return c.Logout(ctx, logout, p) }},
		{"reconnect", &reconnect, &a.Change, func(ctx context.Context, c *C, p P) (any, error) { return c.Reconnect(ctx, reconnect, p) }},
		{"scsi", &scsi, &a.Answer, func(ctx context.Context, c *C, _ P) (any, error) { return c.SCSI(ctx, scsi) }},
		{"task", &task, &a.Tasks, func(ctx context.Context, c *C, p P) (any, error) { return c.Task(ctx, task, p) }},
		{"faults", &faults, &a.Hosted, func(ctx context.Context, c *C, _ P) (any, error) { return c.SetFaults(ctx, faults) }},
		{"accept-loss", &loss, &a.Loss, func(ctx context.Context, c *C, _ P) (any, error) { return c.AcceptLoss(ctx, loss) }},
	}
}

// Requests arrive as they were made, answers likewise, with and without progress; the JSON of both does not change by
// accident.
func TestChanges(t *testing.T) {
	a := controltest.FullAdmin()
	c := control.NewClient(serveAll(t, controltest.Full(), a))
	for _, v := range verbs(a) {
		golden(t, v.name, v.asked)
		golden(t, v.name+"-answer", v.answer)
		for _, follow := range []bool{false, true} {
			var p control.Progress
			var events []control.Event
			if follow {
				p = func(e control.Event) { events = append(events, e) }
			}
			got, err := v.ask(t.Context(), c, p)
			if err != nil || !reflect.DeepEqual(got, v.answer) {
				t.Errorf("%s: %v\n%+v\n%+v", v.name, err, got, v.answer)
			}
			if len(events) > 0 && !reflect.DeepEqual(events, a.Events) {
				t.Errorf("%s: events %+v", v.name, events)
			}
			asked := a.Asked()
			if last := asked[len(asked)-1]; !reflect.DeepEqual(last, v.asked) {
				t.Errorf("%s: asked for %+v, arrived %+v", v.name, v.asked, last)
			}
		}
	}
	golden(t, "line", []control.Line{{Event: &a.Events[0]}, {Answer: json.RawMessage(`{}`)}, {Error: &control.Error{
		Version: 1, Error: "there is no target far", Code: control.CodeNotFound, Advice: "see: srpctl targets",
	}}})
}

// Every exit code and advice goes through, with and without progress.
func TestChangeErrors(t *testing.T) {
	a := controltest.FullAdmin()
	c := control.NewClient(serveAll(t, controltest.Full(), a))
	for _, code := range []exitcode.Code{
		exitcode.Failure, exitcode.Usage, exitcode.NotFound, exitcode.Exists, exitcode.InUse, exitcode.Denied, exitcode.Rejected,
		exitcode.Unreachable, exitcode.Unusable, exitcode.State, exitcode.NoDaemon,
	} {
		a.Err = exitcode.With(code, errors.New("it is so"), "do that")
		for _, p := range []control.Progress{nil, func(control.Event) {}} {
			_, err := c.Remove(t.Context(), control.RemoveTarget{Target: "far"}, p)
			var e *exitcode.Error
			if !errors.As(err, &e) || e.Code != code || e.Advice != "do that" || err.Error() != "it is so" {
				t.Errorf("%d: %v", code, err)
			}
		}
	}
}

// A peer that goes away ends what it has asked for.
func TestGone(t *testing.T) {
	for _, p := range []control.Progress{nil, func(control.Event) {}} {
		a := controltest.FullAdmin()
		a.Hold = make(chan struct{})
		c := control.NewClient(serveAll(t, controltest.Full(), a)) // its shutdown waits for the handler
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := c.Rescan(ctx, control.Rescan{}, p)
			done <- err
		}()
		for len(a.Asked()) == 0 {
			if t.Context().Err() != nil {
				t.Fatal("the request has not arrived")
			}
			runtime.Gosched()
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// A server that shuts down gives up what it does, and says so.
func TestStopping(t *testing.T) {
	for _, p := range []control.Progress{nil, func(control.Event) {}} {
		a := controltest.FullAdmin()
		a.Hold = make(chan struct{})
		path, stop := serveUntil(t, controltest.Full(), a)
		done := make(chan error)
		go func() {
			_, err := control.NewClient(path).Rescan(t.Context(), control.Rescan{}, p)
			done <- err
		}()
		for len(a.Asked()) == 0 {
			if t.Context().Err() != nil {
				t.Fatal("the request has not arrived")
			}
			runtime.Gosched()
		}
		stop()
		if err := <-done; exitcode.Of(err) != exitcode.NoDaemon || !strings.Contains(err.Error(), "about to end") {
			t.Error(err)
		}
	}
}

// postTo sends a request as it is, and returns the status and the answer.
func postTo(t *testing.T, path, what, body string) (int, string) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", path) }}}
	rsp, err := c.Post("http://srpd/v1/"+what, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close()
	b, err := io.ReadAll(rsp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return rsp.StatusCode, string(b)
}

// What is wrong with a request is said, with the field and what would be right.
func TestBadChanges(t *testing.T) {
	a := controltest.FullAdmin()
	path := serveAll(t, controltest.Full(), a)
	long := strings.Repeat("x", 5000)
	for _, c := range []struct{ what, body, want string }{
		{"add", ``, "not what its verb wants"},
		{"add", `{"version":1} {}`, "not what its verb wants"},
		{"add", `[1]`, "not what its verb wants"},
		{"add", `{"version":1,"loginn":"x"}`, `unknown field`},
		{"add", `{"login":"x"}`, `format 0, want`},
		{"add", `{"version":2,"login":"x"}`, `format 2, want`},
		{"add", `{"version":1}`, "login is missing, want id_ext"},
		{"add", `{"version":1,"login":"` + long + `"}`, "login has a length of 5000, want 4096 at most"},
		{"add", `{"version":1,"login":"x","channels":-1}`, "channels is -1, want 1 or more"},
		{"add", `{"version":1,"login":"x","queue_size":-1}`, "queue_size is -1, want 1 or more"},
		{"remove", `{"version":1}`, "target is missing, want a name"},
		{"remove", `{"version":1,"target":"` + long + `"}`, "target has a length"},
		{"rescan", `{"version":1,"target":"` + long + `"}`, "target has a length"},
		{"logout", `{"version":1}`, "target is missing"},
		{"reconnect", `{"version":1}`, "target is missing"},
		{"scsi", `{"version":1,"unit":"disk0"}`, "cdb has 0 bytes, want"},
		{"scsi", `{"version":1,"unit":"disk0","cdb":"12 0"}`, "hexadecimal"},
		{"scsi", `{"version":1,"unit":"disk0","cdb":"120000000000","in":65537}`, "in is 65537, want 0 to 65536"},
		{"scsi", `{"version":1,"unit":"disk0","cdb":"120000000000","in":1,"out":"00"}`, "want one"},
		{"scsi", `{"version":1,"cdb":"120000000000"}`, "want a unit, or a target and a lun"},
		{"scsi", `{"version":1,"unit":"disk0","target":"t","lun":"0","cdb":"120000000000"}`, "want a unit, or a target and a lun"},
		{"scsi", `{"version":1,"unit":"disk0","cdb":"120000000000","timeout_ms":600001}`, "timeout_ms is 600001"},
		{"scsi", `{"version":1,"unit":"disk0","cdb":"` + strings.Repeat("00", 128<<10) + `"}`, "too large"},
		{"task", `{"version":1,"function":"explode","unit":"disk0"}`, `function is "explode", want abort-task-set, clear-task-set`},
		{"task", `{"version":1,"function":"unit-reset"}`, "want a unit, or a target and a lun"},
		{"task", `{"version":1,"function":"nexus-reset"}`, "target is missing"},
		{"faults", `{"version":1,"rules":"lose"}`, "target is missing"},
		{"accept-loss", `{"version":1}`, "export is missing"},
	} {
		status, body := postTo(t, path, c.what, c.body)
		var e control.Error
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != 400 || e.Code != control.CodeUsage || !strings.Contains(e.Error, c.want) {
			t.Errorf("%s %.60s: %d %s, want %s", c.what, c.body, status, body, c.want)
		}
	}
	if n := len(a.Asked()); n != 0 {
		t.Errorf("%d wrong requests have got through", n)
	}
}

// A stream that ends too early, or is none.
func TestStrangeLines(t *testing.T) {
	for _, c := range []struct {
		body string
		code exitcode.Code
		text string
	}{
		{``, exitcode.NoDaemon, "ended before"},
		{`{"event":{"stage":"x"}}` + "\n", exitcode.NoDaemon, "ended before"},
		{`{"answer":{"ver`, exitcode.NoDaemon, "ended before"},
		{`{"answer":{"version":2}}`, exitcode.Failure, "format 2"},
		{`{"answer":7}`, exitcode.Failure, "not what a daemon says"},
		{`hello`, exitcode.Failure, "not what a daemon says"},
		{`{"error":{"version":1,"error":"no","code":"denied"}}`, exitcode.Denied, "no"},
		{`{"error":{"version":1,"error":"no","code":"newer"}}`, exitcode.Failure, "no"},
		{`{"error":{}}`, exitcode.Failure, "does not say why"},
	} {
		path := strange(t, "application/x-ndjson", 200, c.body)
		_, err := control.NewClient(path).Rescan(t.Context(), control.Rescan{}, func(control.Event) {})
		if exitcode.Of(err) != c.code || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}

// FuzzRequest looks for requests that the decoder takes and that are not in their bounds, or do not survive.
func FuzzRequest(f *testing.F) {
	a := controltest.FullAdmin()
	for i, v := range verbs(a) {
		b, err := json.Marshal(v.asked)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, b)
	}
	f.Fuzz(func(t *testing.T, n int, body []byte) {
		all := verbs(a)
		v := all[uint(n)%uint(len(all))]
		q := reflect.New(reflect.TypeOf(v.asked).Elem()).Interface()
		if err := control.Decode(strings.NewReader(string(body)), q); err != nil {
			if exitcode.Of(err) != exitcode.Usage {
				t.Errorf("%s %q: %v", v.name, body, err)
			}
			return
		}
		b, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		again := reflect.New(reflect.TypeOf(q).Elem()).Interface()
		if err := control.Decode(strings.NewReader(string(b)), again); err != nil {
			t.Fatalf("%s %q, and as %q: %v", v.name, body, b, err)
		}
		c, err := json.Marshal(again)
		if err != nil || string(c) != string(b) {
			t.Fatalf("%q became %q, and then %q, %v", body, b, c, err)
		}
	})
}
