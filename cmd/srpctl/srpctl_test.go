package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"minisrp/cmd/cli/clitest"
	"minisrp/cmd/control"
	"minisrp/cmd/control/controltest"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/paths"
	"minisrp/cmd/srpd/socket"
)

// serve serves a source and an admin below a directory, as a daemon with that state directory does.
func serve(t *testing.T, s control.Source, a control.Admin) (dir string) {
	t.Helper()
	dir = t.TempDir()
	l, err := socket.ListenUnix(filepath.Join(dir, paths.ControlSocket), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(s, a, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Shutdown(t.Context())
		<-done
	})
	return dir
}

// srpctl runs the program.
func srpctl(env map[string]string, args ...string) (string, exitcode.Code, error) {
	var out, errs bytes.Buffer
	c := command(&out, &errs, paths.Env{Get: func(n string) string { return env[n] }, UID: 1})
	c.SetArgs(args)
	err := c.Execute()
	return out.String(), exitcode.Of(err), err
}

// What is printed does not change by accident.
func TestTables(t *testing.T) {
	dir := serve(t, controltest.Full(), controltest.FullAdmin())
	for name, args := range map[string][]string{
		"list":       {"list"},
		"show":       {"show"},
		"units":      {"units"},
		"one-unit":   {"units", "naa.6000000000000002"},
		"paths":      {"paths"},
		"channels":   {"channels"},
		"credits":    {"credits", "embedded"},
		"latencies":  {"latencies"},
		"counters":   {"counters"},
		"sessions":   {"sessions"},
		"faults":     {"faults"},
		"clients":    {"nbd", "clients"},
		"one-client": {"nbd", "clients", "disk0"},
		"add":        {"add", "id_ext=3,ioc_guid=4,dest=192.0.2.9:5555"},
		"tmf":        {"tmf", "lun-reset", "disk0"},
		"set":        {"faults", "set", "embedded", "delay=50ms,op=read"},
		"loss":       {"nbd", "accept-loss", "disk0"},
	} {
		out, _, err := srpctl(nil, append(args, "--state-dir", dir)...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		clitest.Golden(t, filepath.Join("testdata", name+".txt"), out)
	}
	out, _, err := srpctl(nil, "version", "--state-dir", dir)
	if err != nil || !strings.HasPrefix(out, "srpctl ") || !strings.Contains(out, "srpd v1.2.3, process 4711 since 2026-11-30T08:00:00Z") {
		t.Errorf("version prints %q, %v", out, err)
	}
}

// --json is what the daemon said.
func TestJSON(t *testing.T) {
	src, admin := controltest.Full(), controltest.FullAdmin()
	dir := serve(t, src, admin)
	for args, want := range map[string]any{
		"list": &src.T, "targets": &src.T, "show": &src.T, "channels": &src.T, "credits": &src.T, "units": &src.U, "paths": &src.U,
		"counters": &src.C, "version": &src.D, "latencies": &src.L, "sessions": &src.H, "faults": &src.H, "nbd clients": &src.N,
		"rescan": &admin.Change, "remove far": &admin.Change, "logout far": &admin.Change, "reconnect far --now": &admin.Change,
		"tmf lun-reset disk0": &admin.Tasks, "faults clear embedded": &admin.Hosted, "nbd accept-loss disk0": &admin.Loss,
	} {
		out, _, err := srpctl(nil, append(strings.Fields(args), "--json", "--socket", filepath.Join(dir, paths.ControlSocket))...)
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		if err != nil || json.Unmarshal([]byte(out), got) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}

func TestExitCodes(t *testing.T) {
	dir := serve(t, controltest.Full(), controltest.FullAdmin())
	none := filepath.Join(t.TempDir(), "none")
	login := "id_ext=3,ioc_guid=4,dest=192.0.2.9:5555"
	for _, c := range []struct {
		env  map[string]string
		args []string
		code exitcode.Code
		text string
	}{
		{nil, []string{"units", "--state-dir", dir, "disk7"}, exitcode.NotFound, `no unit "disk7"`},
		{nil, []string{"list", "--state-dir", dir, "nobody"}, exitcode.NotFound, `no target "nobody"`},
		{nil, []string{"nbd", "clients", "--state-dir", dir, "disk7"}, exitcode.NotFound, `"disk7"`},
		{nil, []string{"units", "--socket", none}, exitcode.NoDaemon, none},
		{nil, []string{"units"}, exitcode.Usage, "--socket"},
		{map[string]string{"XDG_RUNTIME_DIR": filepath.Dir(none)}, []string{"units"}, exitcode.NoDaemon, filepath.Dir(none)},
		{nil, []string{"units", "--sockt", none}, exitcode.Usage, "sockt"},
		{nil, []string{"unit"}, exitcode.Usage, `"unit"`},
		{nil, []string{"pr", "unit"}, exitcode.Usage, `"unit"`},
		{nil, []string{"counters", "x"}, exitcode.Usage, `"x"`},
		{nil, []string{"units", "--timeout", "-1s", "--state-dir", dir}, exitcode.Usage, "--timeout"},
		{nil, []string{"add"}, exitcode.Usage, "a login string is missing"},
		{nil, []string{"add", "a", "b"}, exitcode.Usage, `"b"`},
		{nil, []string{"add", login + ",queue_size=0"}, exitcode.Usage, "queue_size=0: want 1 to 4096"},
		{nil, []string{"add", login + ",dest=1.2.3.4:5"}, exitcode.Usage, "dest=1.2.3.4:5 is given twice"},
		{nil, []string{"add", login, "--channels", "65"}, exitcode.Usage, "--channels is 65, want 1 to 64"},
		{nil, []string{"add", login, "--queue-size", "0"}, exitcode.Usage, "--queue-size is 0, want 1 to 4096"},
		{nil, []string{"vpd", "disk0", "zz"}, exitcode.Usage, `page "zz"`},
		{nil, []string{"vpd", "disk0", "83", "--all"}, exitcode.Usage, "--all"},
		{nil, []string{"vpd", "disk0", "--raw", "--json"}, exitcode.Usage, "--raw"},
		{nil, []string{"pr", "reserve", "disk0", "--key", "1"}, exitcode.Usage, "type"},
		{nil, []string{"pr", "reserve", "disk0", "--key", "1", "--type", "mine"}, exitcode.Usage, "write-exclusive (we, 1)"},
		{nil, []string{"pr", "reserve", "disk0", "--key", "xyz", "--type", "1"}, exitcode.Usage, "hexadecimal"},
		{nil, []string{"pr", "register", "disk0"}, exitcode.Usage, "new-key"},
		{nil, []string{"inq", "disk0", "--state-dir", dir}, exitcode.Failure, "embedded/0 refuses INQUIRY: CHECK CONDITION: ILLEGAL REQUEST"},
	} {
		if _, code, err := srpctl(c.env, c.args...); code != c.code || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v: %d, %v; want %d", c.args, code, err, c.code)
		}
	}
	if out, code, err := srpctl(nil, "--help"); code != exitcode.OK || !strings.Contains(out, exitcode.Table()) {
		t.Errorf("--help: %v\n%s", err, out)
	}
}

// What a daemon refuses has the code that it says.
func TestRefused(t *testing.T) {
	admin := controltest.FullAdmin()
	dir := serve(t, controltest.Full(), admin)
	for _, code := range []exitcode.Code{
		exitcode.Failure, exitcode.NotFound, exitcode.Rejected, exitcode.InUse, exitcode.Unreachable, exitcode.Unusable, exitcode.State,
		exitcode.Denied, exitcode.Exists,
	} {
		admin.Err = exitcode.Errorf(code, "it is so")
		if _, got, err := srpctl(nil, "rescan", "--state-dir", dir); got != code || err.Error() != "it is so" {
			t.Errorf("%d: %d, %v", code, got, err)
		}
	}
}

// What is asked for is what the daemon is told.
func TestRequests(t *testing.T) {
	admin := controltest.FullAdmin()
	dir := serve(t, controltest.Full(), admin)
	login := "id_ext=3,ioc_guid=4,dest=192.0.2.9:5555"
	for _, c := range []struct {
		args string
		want any
	}{
		{"add " + login + " --channels 2 --queue-size 8 --lun 1 --lun 3 --keep --dry-run --idempotent",
			&control.AddTarget{Login: login, Channels: 2, QueueSize: 8, LUNs: []int{1, 3}, Keep: true, DryRun: true, Idempotent: true}},
		{"remove far --force --dry-run --idempotent", &control.RemoveTarget{Target: "far", Force: true, DryRun: true, Idempotent: true}},
		{"rescan far", &control.Rescan{Target: "far"}},
		{"rescan", &control.Rescan{}},
		{"logout far --force --idempotent", &control.Logout{Target: "far", Force: true, Idempotent: true}},
		{"reconnect far --now --force --dry-run", &control.Reconnect{Target: "far", Now: true, Force: true, DryRun: true}},
		{"tmf abort-task-set disk0", &control.Task{Function: control.AbortTaskSet, Unit: "disk0"}},
		{"tmf clear-task-set [fe80::1%3]:5555/7", &control.Task{Function: control.ClearTaskSet, Target: "[fe80::1%3]:5555", LUN: "7"}},
		{"tmf target-reset far", &control.Task{Function: control.NexusReset, Target: "far"}},
		{"faults set far a b", &control.SetFaults{Target: "far", Rules: "a; b"}},
		{"faults clear far", &control.SetFaults{Target: "far"}},
		{"nbd accept-loss disk0", &control.AcceptLoss{Export: "disk0"}},
	} {
		if _, _, err := srpctl(nil, append(strings.Fields(c.args), "--state-dir", dir)...); err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		v := reflect.ValueOf(c.want).Elem()
		v.FieldByName("Version").SetInt(control.Version)
		asked := admin.Asked()
		if got := asked[len(asked)-1]; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: the daemon is asked %+v, want %+v", c.args, got, c.want)
		}
	}
	before := len(admin.Asked())
	for _, args := range []string{"tmf lun-reset disk0", "faults clear far", "nbd accept-loss disk0", "pr clear disk0 --key 1"} {
		out, _, err := srpctl(nil, append(strings.Fields(args), "--dry-run", "--state-dir", dir)...)
		if err != nil || !strings.HasPrefix(out, "would ") || len(admin.Asked()) != before {
			t.Errorf("%s --dry-run: %v, %q, and the daemon was asked %d times", args, err, out, len(admin.Asked())-before)
		}
		var v control.Change
		out, _, err = srpctl(nil, append(strings.Fields(args), "--dry-run", "--json", "--state-dir", dir)...)
		if err != nil || json.Unmarshal([]byte(out), &v) != nil || !v.DryRun || !strings.HasPrefix(v.Text, "would ") || v.Version != control.Version {
			t.Errorf("%s --dry-run --json: %v, %q", args, err, out)
		}
	}
}

// A function that a path did not do, and a target that could not be asked, make an error, behind the answer.
func TestPartly(t *testing.T) {
	admin := controltest.FullAdmin()
	admin.Tasks.Paths[0].Done, admin.Tasks.Paths[0].Response = false, "NOT SUPPORTED"
	admin.Change.Failed = []string{"far: no answer"}
	dir := serve(t, controltest.Full(), admin)
	for args, text := range map[string]string{"tmf lun-reset disk0": "not done: embedded/0: NOT SUPPORTED", "rescan": "far: no answer"} {
		out, code, err := srpctl(nil, append(strings.Fields(args), "--state-dir", dir)...)
		if code != exitcode.Failure || !strings.Contains(err.Error(), text) || out == "" {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB", 1<<20 - 1: "1 MiB", 8 << 30: "8 GiB", 1 << 63: "8 EiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for want, us := range map[string]float64{"0s": 0, "1.5µs": 1.52, "110µs": 110, "12.35ms": 12345, "2.5s": 2500000, "1m1s": 61e6} {
		if got := micros(us); got != want {
			t.Errorf("%v: %s, want %s", us, got, want)
		}
	}
	for want, all := range map[string][]int{"-": nil, "0": {0}, "0,1": {0, 1}, "0-2": {0, 1, 2}, "0-2,7,9,10": {0, 1, 2, 7, 9, 10}} {
		if got := numbers(all); got != want {
			t.Errorf("%v: %s, want %s", all, got, want)
		}
	}
}
