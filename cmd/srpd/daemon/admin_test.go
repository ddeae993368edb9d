package daemon

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
)

// lab is a daemon that is logged in to one of its two targets; spare is the login string of the other, which has one unit.
type lab struct {
	*Daemon
	t      *testing.T
	cfg    Config
	c      *control.Client
	spare  string
	stages []string // of events, since last asked for
}

func newLab(t *testing.T, change func(*Config)) *lab {
	t.Helper()
	cfg := config(t.TempDir())
	cfg.Embedded = append(cfg.Embedded, Embedded{Name: "spare", Units: []Unit{{Store: embedded.RAM, Size: 4 << 20}}})
	if change != nil {
		change(&cfg)
	}
	w := &lab{t: t, cfg: cfg}
	w.start()
	w.spare = w.embedded[1].LoginString()
	w.cfg.Targets = []Target{{Login: w.embedded[0].LoginString(), Required: true}}
	w.restart()
	return w
}

func (w *lab) start() {
	w.t.Helper()
	d, err := Start(w.t.Context(), w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Daemon, w.c = d, control.NewClient(w.cfg.Control)
}

func (w *lab) restart() {
	w.t.Helper()
	stop(w.t, w.Daemon)
	w.start()
}

// follow keeps the stages of events.
func (w *lab) follow(e control.Event) {
	if n := len(w.stages); n == 0 || w.stages[n-1] != e.Stage {
		w.stages = append(w.stages, e.Stage)
	}
}

// want checks an answer: whether it changed something, what came and went by name, and a part of the text.
func (w *lab) want(c *control.Change, err error, changed bool, came, went []string, text string) {
	w.t.Helper()
	if err != nil {
		w.t.Errorf("want %q: %v", text, err)
		return
	}
	names := func(all []control.UnitPath) (n []string) {
		for _, p := range all {
			n = append(n, p.Name)
		}
		return n
	}
	if c.Changed != changed || !slices.Equal(names(c.Came), came) || !slices.Equal(names(c.Went), went) || !strings.Contains(c.Text, text) || len(c.Failed) > 0 {
		w.t.Errorf("%+v, want changed %v, came %v, went %v, %q", c, changed, came, went, text)
	}
}

// fails checks an error.
func (w *lab) fails(err error, code exitcode.Code, text string) {
	w.t.Helper()
	if err == nil || exitcode.Of(err) != code || !strings.Contains(err.Error(), text) {
		w.t.Errorf("%v (%d), want %q (%d)", err, exitcode.Of(err), text, code)
	}
}

// served returns the names of the disks that are served.
func (w *lab) served() (names []string) {
	for _, u := range w.Units() {
		if len(u.Exports) > 0 {
			names = append(names, u.Name)
		}
	}
	return names
}

// A target that is added is served, and is there after a restart; one that is removed is gone, and stays so.
func TestAddAndRemove(t *testing.T) {
	w := newLab(t, nil)
	defer func() { stop(t, w.Daemon) }()
	ctx := t.Context()
	add := control.AddTarget{Login: w.spare, QueueSize: 4}

	add.DryRun = true
	c, err := w.c.Add(ctx, add, nil)
	w.want(c, err, true, nil, nil, "would be logged in to")
	if n := len(w.targets()); n != 1 || !c.DryRun {
		t.Errorf("a dry run has left %d targets, says %+v", n, c)
	}
	add.DryRun = false
	c, err = w.c.Add(ctx, add, w.follow)
	w.want(c, err, true, []string{"disk2"}, nil, "logged in to, and kept")
	if got := strings.Join(w.stages, " "); got != "login state scan disk" {
		t.Errorf("stages %q", got)
	}
	_, err = w.c.Add(ctx, add, nil)
	w.fails(err, exitcode.Exists, "is there already")
	add.Idempotent = true
	c, err = w.c.Add(ctx, add, nil)
	w.want(c, err, false, nil, nil, "is there already")

	w.restart()
	all, err := w.c.Targets(ctx)
	if err != nil || len(all.Targets) != 2 || all.Targets[0].Origin != "configuration" || all.Targets[1].Origin != "control" ||
		all.Targets[1].Session.QueueSize != 4 || !slices.Equal(w.served(), []string{"disk0", "disk1", "disk2"}) {
		t.Errorf("after a restart %v are served, targets %+v, %v", w.served(), all, err)
	}

	_, err = w.c.Remove(ctx, control.RemoveTarget{Target: "embedded"}, nil)
	w.fails(err, exitcode.Denied, "as the configuration says, and cannot be removed")
	c, err = w.c.Remove(ctx, control.RemoveTarget{Target: "spare", DryRun: true}, nil)
	w.want(c, err, true, nil, []string{"disk2"}, "would be logged out of")
	c, err = w.c.Remove(ctx, control.RemoveTarget{Target: w.spare}, nil)
	w.want(c, err, true, nil, []string{"disk2"}, "logged out of, and forgotten")
	for _, name := range []string{"spare", w.spare} {
		_, err = w.c.Remove(ctx, control.RemoveTarget{Target: name}, nil)
		w.fails(err, exitcode.NotFound, "no target")
		c, err = w.c.Remove(ctx, control.RemoveTarget{Target: name, Idempotent: true}, nil)
		w.want(c, err, false, nil, nil, "no target")
	}
	w.restart()
	if !slices.Equal(w.served(), []string{"disk0", "disk1"}) || len(w.targets()) != 1 {
		t.Errorf("after the removal and a restart %v are served", w.served())
	}
}

// Targets that were added are logged in to by a daemon whose configuration has none, not even one that hosts them.
func TestAddedAlone(t *testing.T) {
	w := newLab(t, nil)
	defer func() { stop(t, w.Daemon) }()
	if _, err := w.c.Add(t.Context(), control.AddTarget{Login: w.spare}, nil); err != nil {
		t.Fatal(err)
	}
	own := w.cfg.Embedded
	w.cfg.Embedded, w.cfg.Targets = nil, nil
	w.restart()
	all, err := w.c.Targets(t.Context())
	if err != nil || len(all.Targets) != 1 || all.Targets[0].Origin != "control" || len(w.served()) != 0 || !strings.Contains(w.Summary(), "0 disks served; failed: target ") {
		t.Errorf("%s; targets %+v, %v", w.Summary(), all, err)
	}
	w.cfg.Embedded = own
	w.restart()
	if !slices.Equal(w.served(), []string{"disk0", "disk1", "disk2"}) {
		t.Errorf("with its host %v are served", w.served())
	}
}

// What cannot be logged in to is refused, with what is right, and is not kept unless that is asked for.
func TestAddRefused(t *testing.T) {
	w := newLab(t, nil)
	defer func() { stop(t, w.Daemon) }()
	ctx := t.Context()
	for _, c := range []struct {
		q    control.AddTarget
		code exitcode.Code
		text string
	}{
		{control.AddTarget{Login: "id_ext=1"}, exitcode.Usage, "ioc_guid"},
		{control.AddTarget{Login: w.spare + ",colour=red"}, exitcode.Usage, "colour"},
		{control.AddTarget{Login: w.spare + ",protect=region"}, exitcode.Usage, "says protect=, and this daemon has io"},
		{control.AddTarget{Login: w.spare, Channels: 65}, exitcode.Usage, "channels is 65, want 1 to 64"},
		{control.AddTarget{Login: w.spare, QueueSize: 1 << 30}, exitcode.Usage, "queue_size"},
		{control.AddTarget{Login: w.spare, LUNs: []int{-1}}, exitcode.Usage, "luns has -1, want 0 to"},
		{control.AddTarget{Login: "id_ext=1,ioc_guid=2,dest=203.0.113.1:5555"}, exitcode.Unreachable, "no RDMA device"},
		{control.AddTarget{Login: strings.Replace(w.spare, ":5555", ":5556", 1)}, exitcode.Unreachable, "192.0.2.3:5556"},
	} {
		_, err := w.c.Add(ctx, c.q, nil)
		w.fails(err, c.code, c.text)
		c.q.DryRun = true
		if _, err := w.c.Add(ctx, c.q, nil); err == nil && !strings.Contains(c.text, "5556") {
			t.Errorf("a dry run takes %+v", c.q)
		}
	}
	if _, err := w.c.SetFaults(ctx, control.SetFaults{Target: "spare", Rules: "reject=0x00010001"}); err != nil {
		t.Fatal(err)
	}
	add := control.AddTarget{Login: w.spare}
	_, err := w.c.Add(ctx, add, nil)
	w.fails(err, exitcode.Rejected, "0x00010001")
	if n := len(w.targets()); n != 1 {
		t.Errorf("%d targets", n)
	}
	add.Keep = true
	c, err := w.c.Add(ctx, add, nil)
	if err != nil || !c.Changed || len(c.Failed) != 1 || !strings.Contains(c.Failed[0], "0x00010001") {
		t.Errorf("%+v, %v", c, err)
	}
	h, err := w.c.SetFaults(ctx, control.SetFaults{Target: "spare", Rules: "delay=1ms,op=read"})
	if err != nil || len(h.Targets) != 1 || len(h.Targets[0].Faults) != 1 || h.Targets[0].Faults[0].Rule != "delay=1ms,op=read" {
		t.Errorf("%+v, %v", h, err)
	}
	c, err = w.c.Reconnect(ctx, control.Reconnect{Target: "spare", Now: true}, nil)
	if err != nil || !slices.Contains(w.served(), "disk2") {
		t.Errorf("%+v, %v; %v are served", c, err, w.served())
	}
}

// A session that is ended takes its disks along; they come back with it.
func TestLogoutAndReconnect(t *testing.T) {
	w := newLab(t, nil)
	defer func() { stop(t, w.Daemon) }()
	ctx := t.Context()
	out := control.Logout{Target: "embedded", DryRun: true}
	c, err := w.c.Logout(ctx, out, nil)
	w.want(c, err, true, nil, []string{"disk0", "disk1"}, "would be logged out of")
	out.DryRun = false
	c, err = w.c.Logout(ctx, out, w.follow)
	w.want(c, err, true, nil, []string{"disk0", "disk1"}, "is logged out of")
	if got := strings.Join(w.stages, " "); got != "flush logout" {
		t.Errorf("stages %q", got)
	}
	all, err := w.c.Targets(ctx)
	if err != nil || all.Targets[0].State != "logged-out" || len(w.Exports()) != 0 || len(w.Units()) != 2 {
		t.Errorf("%+v, %v, exports %v, units %+v", all, err, w.Exports(), w.Units())
	}
	_, err = w.c.Logout(ctx, out, nil)
	w.fails(err, exitcode.NotFound, "no session")
	out.Idempotent = true
	c, err = w.c.Logout(ctx, out, nil)
	w.want(c, err, false, nil, nil, "is logged out of")
	_, err = w.c.Rescan(ctx, control.Rescan{Target: "embedded"}, nil)
	w.fails(err, exitcode.Unreachable, "logged-out")
	c, err = w.c.Rescan(ctx, control.Rescan{}, nil)
	w.want(c, err, false, nil, nil, "0 targets")

	again := control.Reconnect{Target: "embedded", DryRun: true}
	c, err = w.c.Reconnect(ctx, again, nil)
	w.want(c, err, true, nil, nil, "would be logged in to")
	again.DryRun = false
	c, err = w.c.Reconnect(ctx, again, nil)
	w.want(c, err, true, []string{"disk0", "disk1"}, nil, "is logged in to")
	c, err = w.c.Reconnect(ctx, again, nil)
	w.want(c, err, false, nil, nil, "is logged in to")
	before := w.targets()[0].target.Logins()
	again.Force = true
	c, err = w.c.Reconnect(ctx, again, nil)
	w.want(c, err, true, nil, nil, "is logged in to")
	if n := w.targets()[0].target.Logins(); n != before+1 {
		t.Errorf("%d logins, were %d", n, before)
	}
}

// A rescan says what has come and gone.
func TestRescan(t *testing.T) {
	w := newLab(t, nil)
	defer func() { stop(t, w.Daemon) }()
	ctx := t.Context()
	c, err := w.c.Rescan(ctx, control.Rescan{}, nil)
	w.want(c, err, false, nil, nil, "1 targets were asked")
	port := w.embedded[0].Port()
	u, err := port.Detach(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err = w.c.Rescan(ctx, control.Rescan{Target: "embedded"}, nil)
	w.want(c, err, true, nil, []string{"disk1"}, "1 have gone")
	if err := port.Attach(ctx, 1, u); err != nil {
		t.Fatal(err)
	}
	c, err = w.c.Rescan(ctx, control.Rescan{}, nil)
	w.want(c, err, true, []string{"disk1"}, nil, "1 units have come")
}

// Of several who add the same at once one does it; adding and removing at once leaves one state or the other.
func TestAtOnce(t *testing.T) {
	w := newLab(t, nil)
	defer func() { stop(t, w.Daemon) }()
	ctx := t.Context()
	for range 3 {
		var all sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			all.Go(func() { _, errs[i] = w.c.Add(ctx, control.AddTarget{Login: w.spare}, nil) })
		}
		all.Wait()
		added := 0
		for _, err := range errs {
			if err == nil {
				added++
			} else {
				w.fails(err, exitcode.Exists, "is there already")
			}
		}
		if added != 1 || len(w.targets()) != 2 {
			t.Errorf("%d have added it, %d targets", added, len(w.targets()))
		}
		for i := range errs {
			all.Go(func() { _, errs[i] = w.c.Remove(ctx, control.RemoveTarget{Target: w.spare, Idempotent: true}, nil) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil || len(w.targets()) != 1 {
			t.Errorf("%v, %d targets", err, len(w.targets()))
		}
	}
	// A login that takes long does not keep it from being removed.
	if _, err := w.c.SetFaults(ctx, control.SetFaults{Target: "spare", Rules: "delay=2s,op=login"}); err != nil {
		t.Fatal(err)
	}
	logging := make(chan struct{}, 1)
	added := make(chan error)
	go func() {
		_, err := w.c.Add(ctx, control.AddTarget{Login: w.spare, Keep: true}, func(control.Event) {
			select {
			case logging <- struct{}{}:
			default:
			}
		})
		added <- err
	}()
	<-logging
	c, err := w.c.Remove(ctx, control.RemoveTarget{Target: w.spare}, nil)
	if aerr := <-added; err != nil || !c.Changed || len(w.targets()) != 1 {
		t.Errorf("remove: %+v, %v; add: %v", c, err, aerr)
	}
	if kept, err := w.state.Targets(ctx); err != nil || len(kept) != 0 {
		t.Errorf("kept are %v, %v", kept, err)
	}
}

// The end of the daemon ends what is asked of it, also in the middle.
func TestEndDuringChange(t *testing.T) {
	w := newLab(t, nil)
	if _, err := w.c.SetFaults(t.Context(), control.SetFaults{Target: "spare", Rules: "delay=1h,op=login"}); err != nil {
		t.Fatal(err)
	}
	logging := make(chan struct{}, 1)
	added := make(chan error)
	go func() {
		_, err := w.c.Add(context.Background(), control.AddTarget{Login: w.spare}, func(control.Event) {
			select {
			case logging <- struct{}{}:
			default:
			}
		})
		added <- err
	}()
	<-logging
	stop(t, w.Daemon)
	if err := <-added; exitcode.Of(err) != exitcode.NoDaemon {
		t.Error(err)
	}
}

// The control socket is the group's that is named; one that is not there is refused.
func TestControlGroup(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.Group = strconv.Itoa(os.Getgid())
	d, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(cfg.Control)
	if err != nil || st.Mode().Perm() != 0o660 || int(st.Sys().(*syscall.Stat_t).Gid) != os.Getgid() {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if _, err := control.NewClient(cfg.Control).Daemon(t.Context()); err != nil {
		t.Error(err)
	}
	stop(t, d)
	cfg.Group = "no such group"
	if _, err := Start(t.Context(), cfg); exitcode.Of(err) != exitcode.Usage || !strings.Contains(err.Error(), "--control-group") {
		t.Error(err)
	}
}
