package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/config"
	"minisrp/cmd/srpd/daemon"
	"minisrp/cmd/srpd/embedded"
)

// write writes files, by their names below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

const login = `"id_ext=0000000000000003,ioc_guid=0000000000000004,dest=192.0.2.9:5555"`

// Each mistake is told with its line, its option, and what would be right.
func TestWrong(t *testing.T) {
	for _, c := range []struct {
		text   string
		line   int
		option string
		says   string
	}{
		{"state-dir = 7", 1, "state-dir", "the number 7, want text in quotes"},
		{"state-dir = \"lib\"", 1, "state-dir", "want a path that begins with /"},
		{"\nstate-dirs = \"/x\"", 2, "state-dirs", "no such option: want state-dir, capture, capture-size, nbd"},
		{"capture-size = \"4K\"", 1, "capture-size", "want 64K or more"},
		{"[nbd]\ntcp = \"here\"", 2, "nbd.tcp", "HOST:PORT"},
		{"[nbd]\ntcp = 10809", 2, "nbd.tcp", "the number 10809, want text"},
		{"[nbd]\n\nsocket = \"/" + strings.Repeat("x", 120) + "\"", 3, "nbd.socket", "1 to 107 bytes"},
		{"[nbd]\nread-only = \"yes\"", 2, "nbd.read-only", "want true or false"},
		{"[nbd]\nport = 1", 2, "nbd.port", "no such option: want socket, tcp"},
		{"[nbd]\ntls = \"yes\"", 2, "nbd.tls", "want one of off, on, require"},
		{"[nbd]\ntls = \"on\"", 2, "nbd.tls", "server-cert.pem"},
		{"[nbd]\ntls-certificates = \"tls\"", 2, "nbd.tls-certificates", "begins with /"},
		{"[nbd]\ntls-psk = \"keys.psk\"", 2, "nbd.tls-psk", "begins with /"},
		{"[nbd]\ntls-certificates = \"/tls\"\ntls-psk = \"/keys.psk\"", 3, "nbd.tls-psk", "want one of them"},
		{"[nbd]\ntls-verify-peer = true", 2, "nbd.tls-verify-peer", "there is no TLS"},
		{"[nbd]\nallow = \"unix\"", 2, "nbd.allow", "a list"},
		{"[nbd]\nallow = [\"unix\", \"net=here\"]", 2, "nbd.allow[1]", "ADDRESS/BITS"},
		{"[nbd]\nmax-connections = 0", 2, "nbd.max-connections", "1 to 65536"},
		{"[nbd]\nmemory = true", 2, "nbd.memory", "such as"},
		{"[nbd]\npoll-time = \"2ms\"", 2, "nbd.poll-time", "up to 1ms"},
		{"[nbd]\npoll-time = \"-1us\"", 2, "nbd.poll-time", "want "},
		{"dpc-budget = 0", 1, "dpc-budget", "1 to 1048576"},
		{"[nbd]\nidle-timeout = \"soon\"", 2, "nbd.idle-timeout", "90s"},
		{"[[export]]\nunit = \"disk0\"\nallow = [\"gid=3\"]", 3, "export[0].allow[0]", "uid="},
		{"nbd = 3", 1, "nbd", "want a table: [nbd]"},
		{"[metrics]\nlisten = \"host\"", 2, "metrics.listen", "HOST:PORT"},
		{"[log]\nlevel = \"loud\"", 2, "log.level", "debug, info, warn or error"},
		{"[log]\nformat = \"xml\"", 2, "log.format", "want one of text, json"},
		{"[session]\nchannels = 0", 2, "session.channels", "it is 0, want 1 to 64"},
		{"[session]\nqueue-size = 1.5", 2, "session.queue-size", "want a whole number"},
		{"[session]\nprotect = \"hope\"", 2, "session.protect", "want one of io, bounce, region"},
		{"[[embedded]]\nname = \"a b\"\nunit = [{}]", 2, "embedded[0].name", "letters, digits"},
		{"[[embedded]]\nname = \"a\"", 1, "embedded[0].unit", "missing"},
		{"[embedded]\nname = \"a\"", 1, "embedded", "[[embedded]]"},
		{"[[embedded]]\n[[embedded.unit]]\nstore = \"tape\"", 3, "embedded[0].unit[0].store", "want one of file, badger, ram, null"},
		{"[[embedded]]\n[[embedded.unit]]\n[[embedded.unit]]\nsize = \"lots\"", 4, "embedded[0].unit[1].size", "such as 8G"},
		{"[[embedded]]\nunit = [{}]\nfaults = [\"mood\"]", 3, "embedded[0].faults[0]", "reject"},
		{"[[embedded]]\nunit = [{}]\nfaults = [\"lose\", \"delay=soon\"]", 3, "embedded[0].faults[1]", "50ms"},
		{"[[embedded]]\nunit = [{}]\nfaults = \"lose\"", 3, "embedded[0].faults", "list of texts"},
		{"[[embedded]]\nunit = [{}]\nfaults = [\"capacity=0@1\"]", 3, "embedded[0].faults", "LUN of 0 to 0"},
		{"[[embedded]]\nunit = [{}, {size = 1000}]", 2, "embedded[0].unit[1].size", "multiple of 512"},
		{"[[embedded]]\nunit = [\n  {store = \"ram\"},\n  {store = \"ram\", path = \"x\"},\n]", 4, "embedded[0].unit[1].path", `store = "file"`},
		{"[[embedded]]\nunit = [{path = \"reserve\", size = \"32M\"}]", 2, "embedded[0].unit[0].path", "the daemon's own"},
		{"[[embedded]]\nunit = [{path = \"db/MANIFEST\"}]", 2, "embedded[0].unit[0].path", "the daemon's own"},
		{"[[embedded]]\nunit = [{path = \"./x/../lock\"}]", 2, "embedded[0].unit[0].path", "the daemon's own"},
		{"[[embedded]]\nunit = [{path = \"disk0.img.mark\"}]", 2, "embedded[0].unit[0].path", "the daemon's own"},
		{"state-dir = \"/s\"\n[[embedded]]\nunit = [{path = \"/s/seal\"}]", 3, "embedded[0].unit[0].path", "the daemon's own"},
		{"[[embedded]]\nunit = [{path = \"../../etc/passwd\"}]", 2, "embedded[0].unit[0].path", "leads out"},
		{"[[embedded]]\nname = \"a\"\nunit = [{path = \"b-0.img\"}]\n[[embedded]]\nname = \"b\"\nunit = [{}]", 6, "embedded[1].unit[0].path", "which embedded[0].unit[0].path is too"},
		{"[[embedded]]\nunit = [{path = \"x\"}, {path = \"./x\"}]", 2, "embedded[0].unit[1].path", "want another"},
		{"[[embedded]]\nunit = [{}]\n[[embedded]]\nunit = [{}]", 3, "embedded[1].name", "want another"},
		{"[[target]]\nchannels = 2", 1, "target[0].login", "missing"},
		{"[[target]]\nlogin = \"id_ext=3,ioc_guid=4\"", 2, "target[0].login", "dest"},
		{"[[target]]\nlogin = " + login + "\nluns = [0, 20000]", 3, "target[0].luns[1]", "0 to 16383"},
		{"[[target]]\nlogin = " + login + "\n[[target]]\n\nlogin = " + login, 5, "target[1].login", "target[0].login"},
		{"[[export]]\nname = \"x\"", 1, "export[0].unit", "missing"},
		{"[[export]]\nunit = \"sda\"", 2, "export[0].unit", "disk0"},
		{"[[export]]\nunit = \"disk0\"\nname = \"disk1\"", 3, "export[0].name", "given" /* by the daemon */},
		{"[[export]]\nunit = \"disk0\"\nname = \"a\"\n[[export]]\nunit = \"disk1\"\nname = \"a\"", 6, "export[1].name", "export[0].name"},
		{"[control]\ngroup = \"no such group\"", 2, "control.group", "want the name of a group of this system"},
		{"[nbd]\nsocket = \"/x\"\n[control]\nsocket = \"/x\"", 4, "control.socket", "two paths"},
		{"[nbd]\nonly-listed = true", 2, "nbd.only-listed", "nothing would be served"},
		{"\n\n[nbd", 3, "", "not TOML"},
		{"[nbd]\ntcp = \"1\"\ntcp = \"2\"", 3, "", "not TOML"},
		{"[log]\nlevel = 2026-01-02", 2, "log.level", "a date or time"},
	} {
		file := filepath.Join(t.TempDir(), "srpd.toml")
		write(t, filepath.Dir(file), map[string]string{"srpd.toml": c.text})
		_, err := config.Load(t.Context(), file)
		var all config.Problems
		if !errors.As(err, &all) || exitcode.Of(err) != exitcode.Usage {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		p := all[0]
		if len(all) != 1 || p.File != file || p.Line != c.line || c.option != "" && p.Option != c.option {
			t.Errorf("%q: line %d and %q are wrong, and it says\n%v", c.text, c.line, c.option, err)
		}
		text := p.Text
		if c.says == "given" {
			c.says = "names that the daemon gives"
		}
		if !strings.Contains(text, c.says) || !strings.HasPrefix(p.String(), fmt.Sprintf("%s:%d: ", file, c.line)) {
			t.Errorf("%q: does not say %q:\n%v", c.text, c.says, p)
		}
	}
}

// All mistakes are told at once, in the order of files and lines.
func TestAllAtOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"c.toml":     "x = 1\n[session]\nchannels = -1\n[[embedded]]\nunit = [{}]\n",
		"c.d/1.toml": "[[embedded]]\nname = \"two\"\n[[embedded.unit]]\nsize = true\n",
		"c.d/2.toml": "[[embedded]]\nname = \"two\"\nunit = [{}]\n",
	})
	_, err := config.Load(t.Context(), filepath.Join(dir, "c.toml"))
	want := []string{"c.toml:1: x: ", "c.toml:3: session.channels: ", "c.d/1.toml:4: embedded[1].unit[0].size: ", "c.d/2.toml:2: embedded[2].name: "}
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%v", err)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], filepath.Join(dir, w)) {
			t.Errorf("line %d is %q, want %q", i, lines[i], w)
		}
	}
}

// Every option arrives where it belongs.
func TestFull(t *testing.T) {
	s, err := config.Load(t.Context(), "testdata/full.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := daemon.Defaults()
	want.QueueSize, want.Metrics, want.Capture, want.CaptureSize = 48, "9810", "/var/tmp/srp.pcapng", 64<<20
	want.StateDir, want.Socket, want.TCP, want.Control = "/var/lib/minisrp", "/run/minisrp/nbd.sock", "127.0.0.1:10809", "/run/minisrp/control.sock"
	want.Group, want.Budget = "root", 256
	want.Embedded = []daemon.Embedded{{Name: "lab", Required: true, Faults: []string{"delay=20ms,op=read,every=10", "capacity=0@1"}, Units: []daemon.Unit{
		{Store: embedded.File, Size: 64 << 20, Path: "lab.img"}, {Store: embedded.RAM, Size: 1 << 20, ReadOnly: true},
	}}}
	want.Targets = []daemon.Target{{Login: strings.Trim(login, `"`), Channels: 2, QueueSize: 32, LUNs: []int{0, 1}, Required: true}}
	want.Exports = []daemon.Export{{Unit: "disk0", Name: "data", ReadOnly: true, Allow: []string{"uid=1000"}}}
	want.NBD = daemon.NBD{
		TLS: "require", Certificates: "/etc/minisrp/tls", VerifyPeer: true, Allow: []string{"unix", "net=192.0.2.0/24,tls=backup"},
		MaxConns: 100, MaxClientConns: 10, Memory: 1 << 30, ClientMemory: 128 << 20, PollTime: 20 * time.Microsecond, IdleTimeout: 12 * time.Hour,
	}
	if !reflect.DeepEqual(s.Daemon, want) || s.LogLevel != "info" || s.LogFormat != "text" || len(s.Files) != 1 {
		t.Errorf("%+v\nwant\n%+v", s, want)
	}
}

// Later files replace values and add to lists; others in the directory are none.
func TestDropIns(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"c.toml":       "[session]\nchannels = 2\nqueue-size = 9\n[[export]]\nunit = \"disk0\"\n",
		"c.d/20.toml":  "[session]\nchannels = 4\n",
		"c.d/10.toml":  "[session]\nchannels = 3\n[[export]]\nunit = \"disk1\"\n",
		"c.d/30.old":   "rubbish",
		"c.d/.40.toml": "rubbish",
	})
	s, err := config.Load(t.Context(), filepath.Join(dir, "c.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Daemon; c.Channels != 4 || c.QueueSize != 9 || len(c.Exports) != 2 || c.Exports[1].Unit != "disk1" || len(s.Files) != 3 {
		t.Errorf("%+v", s)
	}
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := config.Load(t.Context(), filepath.Join(dir, "none.toml")); exitcode.Of(err) != exitcode.NotFound || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := config.Load(t.Context(), dir); err == nil {
		t.Error("a directory is taken")
	}
	if s, err := config.Load(t.Context(), os.DevNull); err != nil || len(s.Daemon.Targets) != 0 {
		t.Errorf("nothing: %+v, %v", s, err)
	}
}

// Whatever is in a file, it is taken or refused with a line.
func FuzzLoad(f *testing.F) {
	full, err := os.ReadFile("testdata/full.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(full))
	f.Add("[[embedded]]\nunit = [{}, [], 3]\n[embedded.x]\n")
	f.Add("a.b.c = {d = [[{e = 1}]]}\n\"\" = 1\n'x.y' = 2")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "c.toml")
		write(t, filepath.Dir(file), map[string]string{"c.toml": text})
		_, err := config.Load(t.Context(), file)
		var all config.Problems
		if err != nil && !errors.As(err, &all) {
			t.Fatal(err)
		}
		for _, p := range all {
			if p.Line < 1 || p.Text == "" {
				t.Errorf("%q: %+v", text, p)
			}
		}
	})
}
