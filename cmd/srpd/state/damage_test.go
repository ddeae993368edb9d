package state_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"minisrp/cmd/srpd/state"
	"minisrp/scsi"
	"minisrp/test/need"
)

// The test binary becomes another program when the environment asks for it, since what is tested may end the process.
const (
	envDir  = "STATE_TEST_DIR"
	envMode = "STATE_TEST_MODE"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(envDir)
	switch os.Getenv(envMode) {
	case "":
		os.Exit(m.Run())
	case "open":
		openOnce(dir)
	case "write":
		writeForEver(dir)
	case "full":
		fillUp(dir)
	}
}

// openOnce opens a store, says what came of it, and closes it.
func openOnce(dir string) {
	s, err := state.Open(dir, state.Options{Log: quiet})
	if err != nil {
		var d *state.DatabaseError
		fmt.Println("refused:", errors.As(err, &d), err)
		return
	}
	all, err := s.Bindings(ctx)
	fmt.Println("opened:", len(all), err, s.Close())
}

// writeForEver binds units until it is killed, and says each name that it was given.
func writeForEver(dir string) {
	s, err := state.Open(dir, state.Options{Log: quiet})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("naa.%d.%d", os.Getpid(), i)
		name, err := s.Bind(ctx, scsi.UnitID(id))
		if err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println(id, name)
	}
}

func child(dir, mode string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envDir+"="+dir, envMode+"="+mode)
	return cmd
}

// A kill may catch badger between creating a log and giving it its size: that is no damage.
func TestKilledWhileMakingALog(t *testing.T) {
	first, dir := t.TempDir(), filepath.Join(t.TempDir(), "killed")
	want := read(t, open(t, first))
	if err := os.CopyFS(dir, os.DirFS(first)); err != nil { // what a kill would leave
		t.Fatal(err)
	}
	for _, name := range []string{"00099.mem", "000099.vlog"} {
		if err := os.WriteFile(filepath.Join(dir, "db", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, open(t, dir)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, was %+v", got, want)
	}
}

// What was given out before a kill is there after it, and no start needs help.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	given := make(map[string]string)
	for range 4 {
		cmd := child(dir, "write")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			id, name, _ := strings.Cut(lines.Text(), " ")
			if id == "error" {
				t.Fatal(lines.Text())
			}
			given[id] = name
			if n == 20 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
	}
	s := open(t, dir)
	all, err := s.Bindings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for _, b := range all {
		found[string(b.Unit)] = b.Name
	}
	if len(given) < 80 {
		t.Fatalf("only %d names were given out", len(given))
	}
	for id, name := range given {
		if found[id] != name {
			t.Errorf("%s was %s, is %q", id, name, found[id])
		}
	}
}

// killedStore makes a store with 20 bindings whose process was killed.
func killedStore(t *testing.T, dir string) {
	t.Helper()
	cmd := child(dir, "write")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if n == 20 {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
}

var damages = map[string]func([]byte) []byte{
	"emptied":     func([]byte) []byte { return nil },
	"cut":         func(b []byte) []byte { return b[:len(b)/2] },
	"byte 0":      func(b []byte) []byte { b[0] ^= 0xff; return b },
	"byte 9":      func(b []byte) []byte { b[min(9, len(b)-1)] ^= 0xff; return b },
	"byte 40":     func(b []byte) []byte { b[min(40, len(b)-1)] ^= 0x10; return b },
	"last byte":   func(b []byte) []byte { b[len(b)-1] ^= 0xff; return b },
	"noise":       func(b []byte) []byte { return []byte(strings.Repeat("noise", 1000)) },
	"taken away":  nil,
	"a directory": nil,
}

// damage does what it is told to the file, and reports whether there was something to do.
func damage(t *testing.T, name, what string) bool {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	fn := damages[what]
	switch {
	case fn != nil && len(b) == 0:
		return false
	case fn != nil:
		err = os.WriteFile(name, fn(b), 0o600)
	case what == "a directory":
		err = os.Mkdir(name, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// A damaged database is refused with a text that names it, and a way out that works. One that was not closed may open,
// with what badger can save of it; it neither hangs nor panics.
func TestDamage(t *testing.T) {
	closed := t.TempDir()
	s := open(t, closed)
	for i := range 20 {
		if _, err := s.Bind(t.Context(), scsi.UnitID(fmt.Sprintf("naa.%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	killed := t.TempDir()
	killedStore(t, killed)
	for how, clean := range map[string]string{"closed": closed, "killed": killed} {
		files, err := os.ReadDir(filepath.Join(clean, "db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			for what := range damages {
				if testing.Short() && what != "byte 9" && what != "taken away" {
					continue // each is a process
				}
				t.Run(how+" "+f.Name()+" "+what, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					if err := os.CopyFS(dir, os.DirFS(clean)); err != nil {
						t.Fatal(err)
					}
					if !damage(t, filepath.Join(dir, "db", f.Name()), what) {
						return
					}
					b, err := child(dir, "open").CombinedOutput()
					out := strings.TrimSpace(string(b))
					ok := strings.HasPrefix(out, "refused: true state database "+filepath.Join(dir, "db")) && strings.Contains(out, "damaged")
					if how == "killed" {
						ok = ok || strings.HasPrefix(out, "refused: true") || strings.HasPrefix(out, "opened: ")
					}
					if err != nil || !ok {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		}
	}
}

func TestWayOut(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, filepath.Join(dir, "db", "MANIFEST"), "byte 0")
	_, err := state.Open(dir, state.Options{Log: quiet})
	var d *state.DatabaseError
	if !errors.As(err, &d) || !strings.Contains(d.Advice(), "mv "+d.Path+" ") {
		t.Fatalf("%v", err)
	}
	if err := os.Rename(d.Path, d.Path+".bad"); err != nil {
		t.Fatal(err)
	}
	read(t, open(t, dir))
}

// fillUp opens a store on a little file system and fills that up: changes are refused, reads go on, Close works, and so
// does the next Open, also when there is no room.
func fillUp(dir string) {
	check := func(what string, err error) {
		if err != nil {
			fmt.Println(what, err)
			os.Exit(1)
		}
	}
	check("mount", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	check("mount", unix.Mount("tmpfs", dir, "tmpfs", 0, "size=48m"))
	s, err := state.Open(dir, state.Options{Log: quiet})
	check("open", err)
	_, err = s.Bind(ctx, "naa.1")
	check("bind", err)
	full := filepath.Join(dir, "full")
	f, err := os.Create(full)
	check("create", err)
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		check("fill", err)
	}
	if _, err := s.Bind(ctx, "naa.2"); !errors.Is(err, state.ErrSpace) {
		check("bind when full", fmt.Errorf("is %w", err))
	}
	all, err := s.Bindings(ctx)
	check("bindings", err)
	if len(all) != 1 {
		check("bindings", fmt.Errorf("are %v", all))
	}
	check("close when full", s.Close())
	for range 3 { // whoever has filled it wants to get at it again
		_, err = f.Write(block)
		for err == nil {
			_, err = f.Write(block)
		}
		s, err = state.Open(dir, state.Options{Log: quiet})
		check("open when full", err)
		if name, err := s.Bind(ctx, "naa.1"); err != nil || name != "disk0" {
			check("bind what is known when full", fmt.Errorf("%q, %w", name, err))
		}
		if _, err := s.Bind(ctx, "naa.3"); !errors.Is(err, state.ErrSpace) {
			check("bind another when full", fmt.Errorf("is %w", err))
		}
		check("close when full", s.Close())
	}
	check("close", f.Close())
	check("remove", os.Remove(full))
	s, err = state.Open(dir, state.Options{Log: quiet})
	check("open again", err)
	if name, err := s.Bind(ctx, "naa.1"); err != nil || name != "disk0" {
		check("bind again", fmt.Errorf("%q, %w", name, err))
	}
	check("close again", s.Close())
	fmt.Println("all is well")
}

func TestFullDisk(t *testing.T) {
	cmd := child(t.TempDir(), "full")
	cmd.SysProcAttr = need.MountNamespace(t)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all is well") {
		t.Errorf("%v\n%s", err, out)
	}
}
