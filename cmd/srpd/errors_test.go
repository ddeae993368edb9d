package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"minisrp/cmd/exitcode"
	"minisrp/srp"
)

// fails runs srpd, which must end by itself with the code, without a panic, and say all the texts.
func fails(t *testing.T, code exitcode.Code, texts []string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endTime)
	defer cancel()
	out, got := output(t, exec.CommandContext(ctx, srpdPath, args...))
	if got != code {
		t.Errorf("srpd %v: exit code %d, want %d (%s)\n%s", args, got, code, code, out)
	}
	for _, text := range append(texts, "srpd: ") {
		if !strings.Contains(out, text) {
			t.Errorf("srpd %v does not say %q:\n%s", args, text, out)
		}
	}
	for _, bad := range []string{"panic", "goroutine ", "%!"} {
		if strings.Contains(out, bad) {
			t.Errorf("srpd %v says %q:\n%s", args, bad, out)
		}
	}
}

// What is wrong on the command line is said with the option, its value, and what would be right, before anything is
// touched.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args  []string
		texts []string
	}{
		{[]string{"--embeded"}, []string{"--embeded", "srpd run --help"}},
		{[]string{"--embedded", "now"}, []string{`"now"`}},
		{[]string{"--embedded", "--size", "lots"}, []string{"--size", `"lots"`, "such as 8G"}},
		{[]string{"--embedded", "--size", "0"}, []string{"--size", "above 0"}},
		{[]string{"--embedded", "--size", "99999999999T"}, []string{"--size"}},
		{[]string{"--embedded", "--state-dir", "/proc/foo"}, []string{"--state-dir /proc/foo", "no such file"}},
		{[]string{"--embedded", "--state-dir", "/dev/null"}, []string{"--state-dir /dev/null", "not a directory"}},
		{[]string{"--embedded", "--tcp", "203.0.113.1:10809"}, []string{"--tcp 203.0.113.1:10809", "an address that this host has"}},
		{[]string{"--embedded", "--size", "1000"}, []string{"--size", "1000", "multiple of 512"}},
		{[]string{"--embedded", "--store", "tape"}, []string{"--store", `"tape"`, "want file, badger, ram or null"}},
		{[]string{"--embedded", "--store", "ram", "--size", "900T"}, []string{"not enough memory", "--size"}},
		{[]string{"--embedded", "--luns", "0"}, []string{"--luns is 0", "1 to 64"}},
		{[]string{"--embedded", "--luns", "65"}, []string{"--luns is 65", "1 to 64"}},
		{[]string{"--embedded", "--lun", "-1"}, []string{"--lun is -1", "0 to 16383"}},
		{[]string{"--embedded", "--lun", "one"}, []string{"--lun", "one"}},
		{[]string{"--embedded", "--channels", "0"}, []string{"--channels is 0", "1 to 64"}},
		{[]string{"--embedded", "--queue-size", "-5"}, []string{"--queue-size is -5"}},
		{[]string{"--embedded", "--dpc-budget", "0"}, []string{"--dpc-budget is 0", "1 to 1048576"}},
		{[]string{"--embedded", "--poll-time", "2ms"}, []string{"--poll-time is 2ms", "up to 1ms"}},
		{[]string{"--embedded", "--protect", "hope"}, []string{"--protect", `"hope"`, "io, bounce or region"}},
		{[]string{"--embedded", "--tcp", "here"}, []string{"--tcp", `"here"`, "HOST:PORT"}},
		{[]string{"--embedded", "--tcp", "99999"}, []string{"--tcp", `"99999"`}},
		{[]string{"--embedded", "--tls", "maybe"}, []string{"--tls", `"maybe"`, "require"}},
		{[]string{"--embedded", "--tls", "on"}, []string{"--tls is on", "--tls-certificates", "server-key.pem"}},
		{[]string{"--embedded", "--tls-certificates", "/nowhere"}, []string{"/nowhere", "server-cert.pem"}},
		{[]string{"--embedded", "--tls-psk", "/nowhere"}, []string{"/nowhere", "--tls-psk", "psktool"}},
		{[]string{"--embedded", "--tls-psk", "/etc/passwd"}, []string{"/etc/passwd", "mode 0644", "0600"}},
		{[]string{"--embedded", "--tls-psk", "/k", "--tls-certificates", "/c"}, []string{"--tls-psk", "--tls-certificates", "one of them"}},
		{[]string{"--embedded", "--tls-psk", "/k", "--tls-verify-peer"}, []string{"--tls-psk", "--tls-verify-peer"}},
		{[]string{"--embedded", "--tls-verify-peer"}, []string{"--tls-verify-peer"}},
		{[]string{"--embedded", "--allow", "everybody"}, []string{"--allow", `"everybody"`, "net="}},
		{[]string{"--embedded", "--max-connections", "-1"}, []string{"--max-connections", "-1"}},
		{[]string{"--embedded", "--idle-timeout", "-1s"}, []string{"--idle-timeout", "-1s"}},
		{[]string{"--embedded", "--log-level", "loud"}, []string{"--log-level", `"loud"`, "debug, info, warn or error"}},
		{[]string{"--embedded", "--log-format", "xml"}, []string{"--log-format", `"xml"`, "text or json"}},
		{[]string{"--target", "x", "--store", "ram"}, []string{"--store", "--embedded is not given"}},
		{[]string{"--embedded", "--embedded-fault", "mood"}, []string{"--embedded-fault", `"mood"`, "reject", "capacity=0@LUN"}},
		{[]string{"--embedded", "--embedded-fault", "reject=maybe"}, []string{"--embedded-fault", "0x00010003"}},
		{[]string{"--embedded", "--embedded-fault", "capacity=0@1"}, []string{"--embedded-fault", "LUN of 0 to 0"}},
		{[]string{"--embedded", "--socket", "/x/s", "--control", "/x/s"}, []string{"--socket and --control are both /x/s"}},
		{[]string{"--embedded", "--socket", "/tmp/" + strings.Repeat("x", 110)}, []string{"1 to 107 bytes"}},
	} {
		dir := filepath.Join(t.TempDir(), "state")
		fails(t, exitcode.Usage, c.texts, append([]string{"run", "--state-dir", dir}, c.args...)...)
		if left, _ := os.ReadDir(dir); len(left) > 0 && !slices.Contains(c.args, "ram") {
			t.Errorf("srpd run %v has left %v", c.args, left)
		}
	}
	fails(t, exitcode.Usage, []string{`"walk"`}, "walk")
	fails(t, exitcode.Usage, []string{"no file of 9007199254740992 bytes", "--size"},
		"run", "--state-dir", filepath.Join(t.TempDir(), "state"), "--embedded", "--size", "8192T")
}

// Each mistake in a login string is told with its option, and the login strings of real tools are understood.
func TestTargetStrings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	const good = "id_ext=0000000000000003,ioc_guid=0000000000000004,dest=192.0.2.9:5555"
	for _, c := range []struct {
		target string
		code   exitcode.Code
		texts  []string
	}{
		{"", exitcode.Usage, []string{"id_ext is missing"}},
		{"hello", exitcode.Usage, []string{"hello"}},
		{"id_ext=3,dest=192.0.2.9:5555", exitcode.Usage, []string{"ioc_guid", "missing"}},
		{"id_ext=3,ioc_guid=4", exitcode.Usage, []string{"dest", "missing", "192.0.2.1:5555"}},
		{"id_ext=xyz,ioc_guid=4,dest=192.0.2.9:5555", exitcode.Usage, []string{"id_ext", "xyz", "hexadecimal"}},
		{"id_ext=3,ioc_guid=4,dest=192.0.2.9", exitcode.Usage, []string{"dest", "192.0.2.9", "port"}},
		{"id_ext=3,ioc_guid=4,dest=example.org:5555", exitcode.Usage, []string{"dest", "example.org"}},
		{"id_ext=3,ioc_guid=4,dgid=fe80,pkey=ffff,service_id=1", exitcode.Usage, []string{"dgid", "32 hexadecimal digits"}},
		{good + ",queue_size=none", exitcode.Usage, []string{"queue_size", "none"}},
		{good + ",queue_sizes=7", exitcode.Usage, []string{"queue_sizes", "queue_size"}},
		{good + ",protect=hope", exitcode.Usage, []string{"protect", "hope", "io, bounce or region"}},
		{good, exitcode.Unreachable, []string{"192.0.2.9:5555", "no RDMA device", "--embedded"}},
		{"id_ext=200100E08B000000,ioc_guid=0002c90300a0b1c2,dgid=fe800000000000000002c90300a0b1c3,pkey=ffff,service_id=0002c90300a0b1c2\n",
			exitcode.Unreachable, []string{"dgid=fe80:0000", "no RDMA device"}},
	} {
		fails(t, c.code, append(c.texts, "--target"), "run", "--state-dir", dir, "--target", c.target)
	}
}

// The embedded target is found under its own login string only.
func TestEmbeddedTargetStrings(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	p := start(t, state, embeddedArgs()...)
	out, _ := p.srpctl("targets", "--json")
	login := loginString(t, out)
	p.stop()
	elsewhere := strings.Replace(login, "192.0.2.2", "192.0.2.3", 1)
	noPort := strings.Replace(login, ":5555", ":5556", 1)
	otherID := strings.Replace(login, "id_ext=", "id_ext=f", 1)
	otherID = otherID[:len("id_ext=")+16] + otherID[len("id_ext=")+17:]
	run := append([]string{"run", "--state-dir", state}, embeddedArgs()...)
	fails(t, exitcode.Unreachable, []string{"192.0.2.3:5555", "no RDMA device for that address", login}, append(run, "--target", elsewhere)...)
	fails(t, exitcode.Unreachable, []string{"192.0.2.2:5556", "nothing listens there"}, append(run, "--target", noPort)...)
	fails(t, exitcode.Rejected, []string{"0x00010003", "id_ext and ioc_guid"}, append(run, "--target", otherID)...)
	fails(t, exitcode.Usage, []string{"already connected"}, append(run, "--target", login, "--target", login)...)
	fails(t, exitcode.Usage, []string{"protect="}, append(run, "--target", login+",protect=io", "--target", login+",protect=bounce")...)

	p = start(t, state, embeddedArgs("--target", login+",ch_count=2,queue_size=20", "--target", login+",initiator_ext=77")...)
	out, _ = p.srpctl("show")
	if !strings.Contains(out, "ch_count=2") || !strings.Contains(out, "initiator_ext=0000000000000077") {
		t.Errorf("srpctl targets prints\n%s", out)
	}
	if out, _ := p.srpctl("units"); strings.Count(out, "naa.") != 2+0 || !strings.Contains(out, "embedded/0") {
		t.Errorf("one unit with two paths is\n%s", out)
	}
	tool(t, "nbdinfo", p.uri("disk0"))
}

func loginString(t *testing.T, targets string) string {
	t.Helper()
	_, rest, _ := strings.Cut(targets, `"login_string": "`)
	login, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("no login string in\n%s", targets)
	}
	return login
}

// A login is refused with each reason of SRP r16a 6.4: the number, its words, and what to do.
func TestRejected(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for _, r := range []srp.RejectReason{
		srp.RejectUnableEstablish, srp.RejectInsufficientResource, srp.RejectIUTooLarge, srp.RejectUnableAssociate,
		srp.RejectUnsupportedFormat, srp.RejectNoMultiChannel, srp.RejectChannelLimit, 0x0001abcd,
	} {
		fails(t, exitcode.Rejected, []string{r.String(), r.Advice(), "192.0.2.2:5555"},
			append([]string{"run", "--state-dir", state, "--embedded-fault", fmt.Sprintf("reject=0x%08x", uint32(r))}, embeddedArgs()...)...)
	}
	fails(t, exitcode.Rejected, []string{"0x00010001"},
		append([]string{"run", "--state-dir", state, "--embedded-fault", "disabled"}, embeddedArgs()...)...)
	start(t, state, embeddedArgs()...)
}

// Units that are not there, and units that are no use.
func TestUnits(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	run := append([]string{"run", "--state-dir", state}, embeddedArgs("--luns", "2")...)
	fails(t, exitcode.NotFound, []string{"--lun 7", "no such logical unit", "are there: 0, 1"}, append(run, "--lun", "7")...)
	fails(t, exitcode.Unusable, []string{"capacity of 0", "disk0", "naa."}, append(run, "--embedded-fault", "capacity=0")...)
	fails(t, exitcode.Unusable, []string{"capacity of 0", "disk1", "--lun"}, append(run, "--lun", "0,1", "--embedded-fault", "capacity=0@1")...)

	// One that is no use does not keep the other from being served.
	p := start(t, state, embeddedArgs("--luns", "2", "--embedded-fault", "capacity=0@1")...)
	if !strings.Contains(p.out.String(), "disk1  not served") {
		t.Errorf("srpd says\n%s", p.out)
	}
	if out, code := p.srpctl("units", "disk1"); code != exitcode.OK || !strings.Contains(out, "capacity of 0") {
		t.Errorf("srpctl units: %d\n%s", code, out)
	}
	if out, code := p.srpctl("units", "disk9"); code != exitcode.NotFound || !strings.Contains(out, "disk0, disk1") {
		t.Errorf("srpctl units disk9: %d\n%s", code, out)
	}
	tool(t, "nbdinfo", p.uri("disk0"))
	p.stop()

	p = start(t, state, embeddedArgs("--luns", "2", "--lun", "1")...)
	if out := tool(t, "nbdinfo", "--list", p.uri("")); strings.Contains(out, "disk0") || !strings.Contains(out, "disk1") {
		t.Errorf("with --lun 1 there are\n%s", out)
	}
}

// What another process has is named, with the process; it is not disturbed, and nothing is left behind.
func TestInUse(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	p := start(t, state, embeddedArgs("--tcp", "0")...)
	holder := fmt.Sprintf("process %d (srpd)", p.cmd.Process.Pid)
	_, address, _ := strings.Cut(p.out.String(), "nbd://")
	address, _, _ = strings.Cut(address, "/")

	other := filepath.Join(t.TempDir(), "other")
	run := func(state string, more ...string) []string {
		return append(append([]string{"run", "--state-dir", state}, embeddedArgs()...), more...)
	}
	fails(t, exitcode.InUse, []string{"socket " + filepath.Join(state, "control.sock"), holder, "--control"}, run(state)...)
	fails(t, exitcode.InUse, []string{"socket " + p.socket(), holder, "--socket"}, run(other, "--socket", p.socket())...)
	fails(t, exitcode.InUse, []string{"state directory " + state, holder, "--state-dir"},
		run(state, "--socket", filepath.Join(other, "n"), "--control", filepath.Join(other, "c"))...)
	fails(t, exitcode.InUse, []string{"address " + address, "--tcp"}, run(other, "--tcp", address)...)
	if left, err := os.ReadDir(other); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	tool(t, "nbdinfo", p.uri("disk0"))
	if out, code := p.srpctl("targets"); code != exitcode.OK {
		t.Errorf("srpctl: %d\n%s", code, out)
	}

	// A program that knows nothing of locks.
	foreign := filepath.Join(t.TempDir(), "foreign")
	l, err := net.Listen("unix", foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fails(t, exitcode.InUse, []string{foreign, fmt.Sprintf("process %d", os.Getpid())}, run(other, "--socket", foreign)...)
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}

	// Something that is no socket.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitcode.Usage, []string{file, "not a socket"}, run(other, "--socket", file)...)
	if b, _ := os.ReadFile(file); string(b) != "precious" {
		t.Error("the file was touched")
	}
}

// What is in the state directory is used, or refused and left alone.
func TestState(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	start(t, state, embeddedArgs()...).stop()
	image := filepath.Join(state, "disk0.img")
	run := append([]string{"run", "--state-dir", state}, embeddedArgs()...)

	fails(t, exitcode.Usage, []string{image, "67108864 bytes", "--size"}, "run", "--state-dir", state, "--embedded", "--size", "65M")

	f, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	fails(t, exitcode.InUse, []string{image, "in use"}, run...)
	_ = f.Close()

	if err := os.Rename(image, image+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(image, 0o700); err != nil {
		t.Fatal(err)
	}
	fails(t, exitcode.Usage, []string{image, "not a regular file"}, run...)
	if err := os.Remove(image); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(image+".away", image); err != nil {
		t.Fatal(err)
	}

	// The size is kept when nobody asks for one.
	p := start(t, state, "--embedded")
	if out := strings.TrimSpace(tool(t, "nbdinfo", "--size", p.uri("disk0"))); out != fmt.Sprint(64<<20) {
		t.Errorf("size is %s", out)
	}
	p.stop()

	manifest := filepath.Join(state, "db", "MANIFEST")
	good, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitcode.State, []string{filepath.Join(state, "db"), "damaged", "MANIFEST", "mv "}, run...)
	if b, _ := os.ReadFile(manifest); string(b) != "rubbish" {
		t.Error("the damaged database was touched")
	}
	if err := os.WriteFile(manifest, good, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, state, embeddedArgs()...)
}

// A directory that the user may not use.
func TestDenied(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to be somebody else")
	}
	dir := t.TempDir() // of mode 0700, below another of that mode
	cmd := exec.Command(srpdPath, append([]string{"run", "--state-dir", filepath.Join(dir, "state")}, embeddedArgs()...)...)
	copied := filepath.Join(os.TempDir(), fmt.Sprintf("srpd-test-%d", os.Getpid()))
	b, err := os.ReadFile(srpdPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, b, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(copied)
	cmd.Path = copied
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, code := output(t, cmd)
	if code != exitcode.Denied || !strings.Contains(out, dir) || !strings.Contains(out, "permission denied") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
