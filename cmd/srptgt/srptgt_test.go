package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"minisrp/cmd/cli/clitest"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srptgt/trial"
	"minisrp/scsi/lun"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// srptgt runs a command.
func srptgt(args ...string) (out, errs string, code exitcode.Code) {
	var o, e bytes.Buffer
	c := command(&o, &e)
	c.SetArgs(args)
	err := c.Execute()
	if err != nil {
		exitcode.Print(&e, "srptgt", err)
	}
	return o.String(), e.String(), exitcode.Of(err)
}

// image makes a file of a size.
func image(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return path
}

// golden compares with a file, without what is another each time.
func golden(t *testing.T, name, got string) {
	t.Helper()
	for _, r := range []struct{ from, to string }{
		{`within [0-9.]+(s|ms|µs)`, "within TIME"}, {`(_seconds": )[0-9.e-]+`, "${1}0"}, {`[0-9]+ commands`, "N commands"},
		{`("commands": )[0-9]+`, "${1}0"}, {`\(0x[0-9a-f]+`, "(0x…"},
	} {
		got = regexp.MustCompile(r.from).ReplaceAllString(got, r.to)
	}
	path := filepath.Join("testdata", name)
	if *clitest.Update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestCheck(t *testing.T) {
	args := []string{
		"check", "--unit", "d0=null,size=1G", "--unit", "d1=ram,size=64M,block=4096,serial=second", "--unit", "d2=null,size=1M",
		"--group", "lab=198.51.100.1,0000:0000:0000:0007", "--lun", "lab/0=d0", "--lun", "lab/30=d1", "--lun", "1=d1",
		"--fault", "delay=1ms,op=read; stale,from=198.51.100.3,times=1", "--fault", "reject=0x00010006,from=198.51.100.4",
		"--as", "@198.51.100.1", "--as", "0x00000000000000020000000000000009", "--as", "@198.51.100.3", "--as", "@198.51.100.4", "--channels", "2",
	}
	out, errs, code := srptgt(args...)
	if code != exitcode.Rejected || !strings.Contains(errs, "refuses 0x00000000000000000200000000000103") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	golden(t, "check.txt", out)
	out, _, _ = srptgt(append(args, "--json")...)
	golden(t, "check.json", out)
	var r trial.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Version != trial.Version || r.Outcome() != trial.Refused {
		t.Errorf("%+v, %v", r, err)
	}
}

// Whoever is named, and only they, may log in to a closed target; what is logged says how to let the others in.
func TestCheckClosed(t *testing.T) {
	args := strings.Split("check --unit d0=null,size=1G --group lab=198.51.100.1 --lun lab/0=d0 --closed --as @198.51.100.1", " ")
	if out, errs, code := srptgt(args...); code != exitcode.OK || errs != "" {
		t.Errorf("exit code %d: %s\n%s", code, errs, out)
	}
	out, errs, code := srptgt(append(args, "--as", "@198.51.100.2")...)
	if code != exitcode.Rejected || !strings.Contains(out, "reason 0x00010003") || !strings.Contains(out, "access list") ||
		!strings.Contains(errs, `"allow with"="0x00000000000000000200000000000101 or 0200:0000:0000:0101 or 198.51.100.2"`) ||
		!strings.Contains(errs, "peer=198.51.100.2:") {
		t.Errorf("exit code %d: %s\n%s", code, errs, out)
	}
	if out, _, code := srptgt(append(args, "--as", "@198.51.100.2", "--like-linux")...); code != exitcode.Rejected || !strings.Contains(out, "reason 0x00010006") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// A file is looked at and left as it is; one that is not there is not made.
func TestCheckFile(t *testing.T) {
	path := image(t, 8<<20)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := srptgt("check", "--unit", "d0=file:"+path)
	if code != exitcode.OK || !strings.Contains(out, "8M in blocks of 512") || !strings.Contains(out, "write protected") {
		t.Errorf("exit code %d: %s\n%s", code, errs, out)
	}
	if after, err := os.Stat(path); err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("%+v, %v", after, err)
	}
	absent := filepath.Join(t.TempDir(), "absent.img")
	out, errs, code = srptgt("check", "--unit", "d0=file:"+absent+",size=8G")
	if code != exitcode.OK || !strings.Contains(out, "not there yet") {
		t.Errorf("exit code %d: %s\n%s", code, errs, out)
	}
	if _, err := os.Stat(absent); !os.IsNotExist(err) {
		t.Errorf("the file was made: %v", err)
	}
}

// What is wrong is said, all of it at once where it can be, with the code that the table gives.
func TestCheckRefuses(t *testing.T) {
	used := image(t, 1<<20)
	s, err := lun.OpenFile(used, lun.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	small := image(t, 1000)
	for _, c := range []struct {
		args string
		code exitcode.Code
		want []string
	}{
		{"", exitcode.Usage, []string{"--unit", "there is none"}},
		{"extra", exitcode.Usage, []string{`unexpected argument "extra"`}},
		{"--unit x --lun 3 --group a=b --as @x --channels 17 --login-timeout 0s", exitcode.Usage,
			[]string{"--unit x", "want NAME=KIND", "--lun 3", "N of 0 to 255", "--group a=b", "names no initiator", "--as @x", "--channels 17", "--login-timeout 0s"}},
		{"--unit a=file", exitcode.Usage, []string{"wants a path"}},
		{"--unit a=ram", exitcode.Usage, []string{"wants a size, as in a=ram,size=64M"}},
		{"--unit a=tape:x", exitcode.Usage, []string{"want NAME=KIND"}},
		{"--unit a=null,size=5Q", exitcode.Usage, []string{"size: want a number of bytes"}},
		{"--unit a=null,size=1M,block=8K", exitcode.Usage, []string{"block: want a power of two"}},
		{"--unit a=null,size=1M,block=1000", exitcode.Usage, []string{"unit a"}},
		{"--unit a=null,size=1M,colour=red", exitcode.Usage, []string{`"colour=red"`}},
		{"--unit a=null,size=1M --unit a=null,size=1M", exitcode.Usage, []string{"two of this name", "serial number"}},
		{"--unit a=null,size=1M --unit b=null,size=1M,serial=a", exitcode.Usage, []string{`"a" is that of a`}},
		{"--unit a=file:/x,size=1M --unit b=file:/x,size=1M", exitcode.Usage, []string{"a file is one unit's"}},
		{"--unit a=null,size=1M --lun 0=b --lun g/0=a --lun 1=a --lun 1=a", exitcode.Usage, []string{"no --unit b", "no --group g", "--lun 1=a: this LUN is taken"}},
		{"--unit a=null,size=1M --group g=* --group g=*", exitcode.Usage, []string{"--group g: there are two"}},
		{"--unit a=null,size=1M --closed --lun 0=a", exitcode.Usage, []string{"nobody sees it", "nobody can log in"}},
		{"--unit a=null,size=1M --fault mood", exitcode.Usage, []string{"--fault mood", "want one of"}},
		{"--unit a=null,size=1M --credits 5000", exitcode.Usage, []string{"credits is 5000, must be 1 to"}},
		{"--unit a=null,size=1M --as @192.0.2.1", exitcode.Usage, []string{"the target's address"}},
		{"--unit a=null,size=1M --as @10.0.0.1 --as @10.0.0.1", exitcode.Usage, []string{"has this address"}},
		{"--unit a=file:/nonexistent/x", exitcode.NotFound, []string{"unit a", "no such file"}},
		{"--unit a=file:" + used, exitcode.InUse, []string{"unit a", used}},
		{"--unit a=file:" + small, exitcode.Usage, []string{"unit a", small}},
		{"--unit a=file:/dev/null", exitcode.Usage, []string{"/dev/null"}},
		{"--unit a=null,size=1M --group g=10.0.0.1 --lun g/0=a", exitcode.Unusable, []string{"not every initiator"}},
		{"--unit a=null,size=1M --fault delay=1h,op=login --login-timeout 10ms", exitcode.Unreachable, []string{"no session for"}},
		{"--unit a=null,size=1M --fault stale", exitcode.Rejected, []string{"refuses"}},
		{"--unit a=null,size=1M --fault sense=3/1100,op=read", exitcode.Unusable, []string{"not every initiator"}},
	} {
		_, errs, code := srptgt(append([]string{"check"}, strings.Fields(c.args)...)...)
		if code != c.code {
			t.Errorf("check %s: exit code %d, want %d: %s", c.args, code, c.code, errs)
		}
		for _, w := range c.want {
			if !strings.Contains(errs, w) {
				t.Errorf("check %s: %q is not in\n%s", c.args, w, errs)
			}
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"check", "--help"}, {"version"}} {
		out, errs, code := srptgt(args...)
		if code != exitcode.OK || errs != "" || !strings.Contains(out, "srptgt") {
			t.Errorf("%v: exit code %d: %s\n%s", args, code, errs, out)
		}
	}
	if out, _, _ := srptgt("--help"); !strings.Contains(out, "Other hosts cannot log in") || !strings.Contains(out, "srpd run --embedded") {
		t.Errorf("what it cannot do is not said:\n%s", out)
	}
}
