package thin_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"minisrp/scsi/lun/thin"
)

// The test binary becomes another program when the environment asks for it, which is killed or fills a disk.
const (
	envDir  = "THIN_TEST_DIR"
	envMode = "THIN_TEST_MODE"
)

func TestMain(m *testing.M) {
	switch dir := os.Getenv(envDir); os.Getenv(envMode) {
	case "":
		goleak.VerifyTestMain(m)
	case "write":
		writeForEver(dir)
	case "full":
		fillUp(dir, "write", 9, intact)
	case "zero":
		zeroForEver(dir)
	case "full zero":
		fillUp(dir, "zero", 120, zeroed)
	}
}

func child(dir, mode string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envDir+"="+dir, envMode+"="+mode)
	return cmd
}

// rounds of the writer are 1 MiB each, which wander over the disk.
const roundBytes = 1 << 20

func roundAt(n int) uint64 { return uint64(n%48) * roundBytes }

// must ends a writer, which is a process of its own, with an error.
func must(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// opened opens a writer's disk.
func opened(dir string, size uint64) *thin.Store {
	d, err := thin.Open(dir, thin.Options{Log: quiet})
	must(err)
	s, err := d.Open("disk", thin.Unit{Size: size})
	must(err)
	return s
}

// writeForEver goes on where it was, and says each round that is flushed.
func writeForEver(dir string) {
	ctx, s := context.Background(), opened(dir, size)
	for n := 0; ; n++ {
		must(s.Write(ctx, [][]byte{noise(uint64(n), roundBytes)}, roundAt(n), false))
		if n%3 == 2 {
			must(s.Unmap(ctx, roundAt(n-1), page))
		}
		must(s.Flush(ctx))
		fmt.Println("round", n)
	}
}

// kill runs a writer and kills it after some rounds. It returns how many it told.
func kill(t *testing.T, dir string, after int) (rounds int) {
	t.Helper()
	cmd := child(dir, "write")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); rounds++ {
		if strings.HasPrefix(lines.Text(), "error") {
			t.Fatal(lines.Text())
		}
		if rounds+1 >= after {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return rounds
}

// intact reports whether the disk has what the rounds told have flushed, or what the next one was writing.
func intact(s *thin.Store, rounds int) error {
	for n := rounds - min(rounds, 48); n < rounds; n++ {
		if rounds-n > 47 {
			continue // the round that was under way may have written there
		}
		got, want := make([]byte, roundBytes), noise(uint64(n), roundBytes)
		if err := s.Read(context.Background(), [][]byte{got}, roundAt(n)); err != nil {
			return err
		}
		if n%3 == 1 && n+1 < rounds {
			clear(want[:page])
		} else if n%3 == 1 && n+1 == rounds {
			copy(want[:page], got[:page]) // may have been unmapped
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("round %d of %d is not there", n, rounds)
		}
	}
	return nil
}

// What was flushed before a kill is there after it, and no start needs help.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		rounds := kill(t, dir, 5+4*i)
		d := open(t, dir)
		s := unit(t, d, "disk")
		if err := intact(s, rounds); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Close(t.Context()), d.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

var damages = map[string]func([]byte) []byte{
	"emptied":    func([]byte) []byte { return nil },
	"cut":        func(b []byte) []byte { return b[:len(b)/2] },
	"byte 9":     func(b []byte) []byte { b[min(9, len(b)-1)] ^= 0xff; return b },
	"byte 5000":  func(b []byte) []byte { b[min(5000, len(b)-1)] ^= 0x10; return b },
	"taken away": nil,
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
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// A damaged database is refused with a text that names it and the file, and a way out that works; what it does not
// refuse is not damaged.
func TestDamage(t *testing.T) {
	killed := t.TempDir()
	rounds := kill(t, killed, 6)
	closed := t.TempDir()
	copyLive(t, closed, killed)
	if err := open(t, closed).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for how, clean := range map[string]string{"closed": closed, "killed": killed} {
		files, err := os.ReadDir(filepath.Join(clean, "db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			for what := range damages {
				if testing.Short() && what != "byte 5000" && what != "taken away" && what != "cut" {
					continue
				}
				t.Run(how+" "+f.Name()+" "+what, func(t *testing.T) {
					dir := t.TempDir()
					copyLive(t, dir, clean)
					if !damage(t, filepath.Join(dir, "db", f.Name()), what) {
						return
					}
					d, err := thin.Open(dir, thin.Options{Log: quiet})
					var s *thin.Store
					if err == nil {
						defer closeDB(t, d)
						s, err = d.Open("disk", thin.Unit{})
					}
					if err != nil {
						var e *thin.Error
						if !errors.As(err, &e) || !errors.Is(err, thin.ErrDamaged) || !strings.Contains(err.Error(), dir) ||
							!strings.Contains(e.Advice(), "mv "+dir+" ") {
							t.Error(err)
						}
						return
					}
					defer s.Close(t.Context())
					if how == "closed" {
						t.Error("a database that was closed opens")
					}
					if err := intact(s, rounds); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}
