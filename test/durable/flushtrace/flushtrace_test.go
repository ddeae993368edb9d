package flushtrace_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"minisrp/test/durable/flushtrace"
	"minisrp/test/need"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, trace string) *flushtrace.Report {
	t.Helper()
	calls, err := flushtrace.Parse(strings.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	r, err := flushtrace.Check(calls)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recorded is what strace wrote of nbdkit's file plugin, which calls fdatasync at each flush and after each write with
// FUA.
func recorded(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/nbdkit-file.strace")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRecorded(t *testing.T) {
	r := check(t, recorded(t))
	want := flushtrace.Report{Writes: 17, FUAs: 5, Flushes: 13, FileWrites: 17, Syncs: 18, Proved: 22, Example: r.Example}
	if !r.OK() || fmt.Sprint(*r) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", *r, want)
	}
	if !strings.Contains(r.Example, "pwrite64 to /tmp/trace/disk (line 12) and fdatasync (lines 15 to 19)") {
		t.Errorf("example %q", r.Example)
	}
}

// TestRecordedWithoutSyncs: when the syncs are not there, fail, are of another file, or come after everything, nothing
// is proved.
func TestRecordedWithoutSyncs(t *testing.T) {
	trace := recorded(t)
	line := regexp.MustCompile(`(?m)^.*fdatasync.*\n`)
	for what, changed := range map[string]string{
		"absent":  line.ReplaceAllString(trace, ""),
		"failing": regexp.MustCompile(`(fdatasync.*\)) += 0`).ReplaceAllString(trace, "$1 = -1 EIO (Input/output error)"),
		"another": regexp.MustCompile(`fdatasync\(9</tmp/trace/disk>`).ReplaceAllString(trace, "fdatasync(8</tmp/trace/other>"),
		"late":    line.ReplaceAllString(trace, "") + strings.Join(line.FindAllString(trace, -1), ""),
	} {
		if changed == trace {
			t.Fatal(what, ": nothing changed")
		}
		if r := check(t, changed); r.Proved != 0 || len(r.Unproved) != 22 || r.OK() {
			t.Errorf("%s: %d proved, %d not", what, r.Proved, len(r.Unproved))
		}
	}
	// One at a time: whether it is missed depends on the others, but of these it is.
	missed := 0
	for _, at := range line.FindAllStringIndex(trace, -1) {
		if !check(t, trace[:at[0]]+trace[at[1]:]).OK() {
			missed++
		}
	}
	if missed < 10 {
		t.Errorf("only %d lines of syncs are missed", missed)
	}
}

// TestPromises has short traces, line by line, and what they prove.
func TestPromises(t *testing.T) {
	head := func(cmd, flags, cookie byte, length int) string {
		return fmt.Sprintf(`\x25\x60\x95\x13\0\%o\0\%o\0\0\0\0\0\0\0\%o\0\0\0\0\0\0\0\0\0\0\x%02x\0`, flags, cmd, cookie, length>>8)
	}
	line := func(pid int, call string) string { return fmt.Sprintf("%d 1.000001 %s\n", pid, call) }
	read := func(what string, n int) string {
		return line(1, fmt.Sprintf(`read(6<socket:[5]>, "%s", %d) = %d`, what, n, n))
	}
	answer := func(cookie byte) string {
		return line(1, fmt.Sprintf(`sendto(6<socket:[5]>, "gDf\230\0\0\0\0\0\0\0\0\0\0\0\%o", 16, 0, NULL, 0) = 16`, cookie))
	}
	const first, second = "abcdefghijklmnopqrstuv0123456789", "vutsrqponmlkjihgfedcba9876543210"
	data := first + strings.Repeat(".", 512-32) + second + strings.Repeat(".", 512-32)
	write := read(head(1, 0, 1, 1024), 28) + read(data, 1024)
	fua := read(head(1, 1, 1, 1024), 28) + read(data, 1024)
	flush := read(head(3, 0, 2, 0), 28)
	stored := line(2, fmt.Sprintf(`pwrite64(9</disk>, "%s", 1024, 4096) = 1024`, data))
	sync := line(2, `fdatasync(9</disk>)                      = 0`)

	for _, c := range []struct {
		name             string
		trace            string
		proved, unproved int
		missing          string
	}{
		{"as it should be", write + stored + answer(1) + flush + sync + answer(2), 1, 0, ""},
		{"fsync", write + stored + answer(1) + flush + strings.Replace(sync, "fdata", "f", 1) + answer(2), 1, 0, ""},
		{"sync before the answer to the write", write + stored + sync + answer(1) + flush + answer(2), 1, 0, ""},
		{"written at the flush", write + answer(1) + flush + stored + sync + answer(2), 1, 0, ""},
		{"no sync", write + stored + answer(1) + flush + answer(2), 0, 1, "pwrite64 to /disk (line 3), but no fsync or fdatasync after it"},
		{"sync before the write", write + sync + stored + answer(1) + flush + answer(2), 0, 1, "no fsync"},
		{"sync after the answer", write + stored + answer(1) + flush + answer(2) + sync, 0, 1, "no fsync"},
		{"never written", write + answer(1) + flush + sync + answer(2), 0, 1, "no write of it to a file"},
		{"written before it came", stored + write + answer(1) + flush + sync + answer(2), 0, 1, "no write of it to a file"},
		{"sync of something else", write + stored + answer(1) + flush + line(2, `fsync(9</log>) = 0`) + answer(2), 0, 1, "no fsync"},
		{"sync that fails", write + stored + answer(1) + flush + line(2, `fsync(9</disk>) = -1 EIO (Input/output error)`) + answer(2), 0, 1, "no fsync"},
		{"sync that began too early", write + line(3, `fsync(9</disk> <unfinished ...>`) + stored + line(3, `<... fsync resumed>) = 0`) + answer(1) + flush + answer(2),
			0, 1, "no fsync"},
		{"sync that ended too late", write + stored + answer(1) + flush + line(3, `fsync(9</disk> <unfinished ...>`) + answer(2) + line(3, `<... fsync resumed>) = 0`),
			0, 1, "no fsync"},
		{"write that ended too late", write + strings.Replace(stored, ") = 1024", " <unfinished ...>", 1) + line(1, `fsync(9</disk>) = 0`) + line(2, `<... pwrite64 resumed>) = 1024`) +
			answer(1) + flush + answer(2), 0, 1, "no fsync"},
		{"sync while others go on", write + stored + answer(1) + flush + line(3, `fsync(9</disk> <unfinished ...>`) + line(4, `read(7<socket:[6]>, "", 28) = 0`) +
			line(3, `<... fsync resumed>) = 0`) + answer(2), 1, 0, ""},
		{"first half only", write + line(2, fmt.Sprintf(`pwrite64(9</disk>, "%s", 512, 4096) = 512`, data[:512])) + answer(1) + flush + sync + answer(2), 0, 1, "no write of it"},
		{"short write", write + strings.Replace(stored, "= 1024", "= 512", 1) + answer(1) + flush + sync + answer(2), 0, 1, "no write of it"},
		{"two halves", write + line(2, fmt.Sprintf(`pwrite64(9</disk>, "%s", 512, 4096) = 512`, data[:512])) +
			line(2, fmt.Sprintf(`pwritev(9</disk>, [{iov_base="%s", iov_len=512}], 1, 4608) = 512`, data[512:])) + answer(1) + flush + sync + answer(2), 1, 0, ""},
		{"vectors", read(head(1, 0, 1, 1024), 28) + line(1, fmt.Sprintf(`readv(6<socket:[5]>, [{iov_base="%s", iov_len=512}, {iov_base="%s", iov_len=4096}], 2) = 1024`, data[:512], data[512:])) +
			line(2, fmt.Sprintf(`pwritev2(9</disk>, [{iov_base="%s", iov_len=500}, {iov_base="%s", iov_len=524}], 2, 4096, 0) = 1024`, data[:500], data[500:])) +
			line(1, `sendmsg(6<socket:[5]>, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="gDf\230\0\0\0\0", iov_len=8}, {iov_base="\0\0\0\0\0\0\0\1", iov_len=8}], msg_iovlen=2, msg_controllen=0, msg_flags=0}, 0) = 16`) +
			flush + sync + answer(2), 1, 0, ""},
		{"RWF_DSYNC", write + line(2, fmt.Sprintf(`pwritev2(9</disk>, [{iov_base="%s", iov_len=1024}], 1, 4096, RWF_DSYNC) = 1024`, data)) + answer(1) + flush + answer(2), 1, 0, ""},
		{"O_DSYNC", line(1, `openat(AT_FDCWD</>, "/disk", O_RDWR|O_DSYNC|O_CLOEXEC) = 9</disk>`) + write + stored + answer(1) + flush + answer(2), 1, 0, ""},
		{"hidden data", read(head(1, 0, 1, 1024), 28) + line(1, fmt.Sprintf(`read(6<socket:[5]>, "%s"..., 1024) = 1024`, first)) +
			line(2, fmt.Sprintf(`pwrite64(9</disk>, "%s"..., 1024, 0) = 1024`, first)) + answer(1) + flush + sync + answer(2), 1, 0, ""},
		{"FUA", fua + stored + sync + answer(1), 1, 0, ""},
		{"FUA without sync", fua + stored + answer(1) + sync, 0, 1, "write 1 of 1024 bytes at 0 (read on line 1) with FUA is answered on line 4"},
		{"flush that came before the answer", write + flush + stored + answer(1) + answer(2), 0, 0, ""},
		{"second flush", write + stored + answer(1) + flush + sync + answer(2) + read(head(3, 0, 3, 0), 28) + answer(3), 1, 0, ""},
		{"flush that fails", write + stored + answer(1) + flush + strings.Replace(answer(2), `230\0\0\0\0`, `230\0\0\0\5`, 1), 0, 0, ""},
		{"write that fails", write + strings.Replace(answer(1), `230\0\0\0\0`, `230\0\0\0\5`, 1) + flush + answer(2), 0, 0, ""},
		{"read between", read(head(0, 0, 4, 512), 28) + line(1, fmt.Sprintf(`write(6<socket:[5]>, "gDf\230\0\0\0\0\0\0\0\0\0\0\0\4%s", 528) = 528`, strings.Repeat("x", 512))) +
			write + stored + answer(1) + flush + sync + answer(2), 1, 0, ""},
		{"everything in one read", line(1, `read(6<socket:[5]>, "`+head(1, 0, 1, 1024)+data+head(3, 0, 2, 0)+`", 65536) = 1080`) + stored + answer(1) + sync + answer(2), 0, 0, ""},
		{"another connection's write", strings.ReplaceAll(write, "6<socket:[5]>", "7<socket:[6]>") + stored + strings.ReplaceAll(answer(1), "6<socket:[5]>", "7<socket:[6]>") +
			flush + answer(2), 0, 1, "no fsync"},
	} {
		r := check(t, c.trace)
		if r.Proved != c.proved || len(r.Unproved) != c.unproved || r.OK() != (c.proved > 0) {
			t.Errorf("%s: %d proved, %q", c.name, r.Proved, r.Unproved)
			continue
		}
		if c.unproved > 0 && !strings.Contains(r.Unproved[0], c.missing) {
			t.Errorf("%s: %q, without %q", c.name, r.Unproved[0], c.missing)
		}
		var out bytes.Buffer
		r.Print(&out)
		if strings.Contains(out.String(), "NOT PROVED") == r.OK() {
			t.Errorf("%s: prints %s", c.name, &out)
		}
	}
}

func TestNotATrace(t *testing.T) {
	for _, trace := range []string{"hello\n", "1 hello\n", "1 1.5 hello\n", "1 1.5 read(3</a>, \"\n", "1 1.5 read(3</a>, \"\", 1) 7\n", "read(3, \"\", 1) = 0\n",
		"1 1.5 <... read\n", "1 1.5 read(3</a>, \"\", 9) = 9999999999\n"} {
		if calls, err := flushtrace.Parse(strings.NewReader(trace)); err == nil || !strings.Contains(err.Error(), "line 1: ") {
			t.Errorf("%q: %v, %v", trace, calls, err)
		}
	}
	// What is no error: ends, signals, calls that did not end or had begun before.
	calls, err := flushtrace.Parse(strings.NewReader("1 1.5 +++ exited with 0 +++\n1 1.5 --- SIGURG {si_signo=SIGURG} ---\n" +
		"2 1.5 <... read resumed>\"\", 1) = 0\n3 1.5 read(3</a>,  <unfinished ...>\n3 1.6 <... read resumed> <unfinished ...>) = ?\n4 1.5 fsync(3</a> <unfinished ...>"))
	if err != nil || len(calls) != 0 {
		t.Errorf("%v, %v", calls, err)
	}
}

func TestTruncated(t *testing.T) {
	calls, err := flushtrace.Parse(strings.NewReader(`1 1.5 read(6<socket:[5]>, "%` + "`" + `\225\23"..., 65536) = 28` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flushtrace.Check(calls); !errors.Is(err, flushtrace.ErrTruncated) {
		t.Errorf("a request that is not shown: %v", err)
	}
}

// TestNbdkit records nbdkit's file plugin, and its memory plugin, which has nothing to sync.
func TestNbdkit(t *testing.T) {
	need.Tool(t, "nbdkit")
	need.Trace(t)
	dir := t.TempDir()
	disk, trace := filepath.Join(dir, "disk"), filepath.Join(dir, "trace")
	if err := os.WriteFile(disk, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, plugin := range [][]string{{"file", disk}, {"memory", "4M"}} {
		socket := filepath.Join(dir, plugin[0])
		err := flushtrace.Record(t.Context(), flushtrace.Config{Argv: append([]string{"nbdkit", "-f", "-U", socket}, plugin...),
			URI: "nbd+unix:///?socket=" + socket, Trace: trace, Groups: 10, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		r := check(t, string(b))
		if r.OK() != (i == 0) || r.Writes < 10 || r.Flushes < 10 || r.FUAs == 0 || i == 1 && r.Proved != 0 {
			t.Errorf("%s: %+v", plugin[0], *r)
		}
	}
}
