package thin_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"minisrp/scsi/lun/dbdir"
	"minisrp/scsi/lun/thin"
	"minisrp/test/need"
)

// fillUp has another process fill a little file system while a third writes to a thin store on it. That one is refused
// space, or is ended by it; what it had flushed is there also when the store is opened on the full file system; space
// can be given back; and when there is room again everything goes on.
func fillUp(dir, writer string, after int, intact func(s *thin.Store, rounds int) error) {
	check := func(what string, err error) {
		if err != nil {
			fmt.Println(what+":", err)
			os.Exit(1)
		}
	}
	check("mount", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	check("mount", unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256m"))
	path, full := filepath.Join(dir, "thin"), filepath.Join(dir, "full")
	ctx := context.Background()
	rounds := writeWhileFilling(path, full, writer, after, check)
	d, err := thin.Open(path, thin.Options{Log: quiet})
	if errors.Is(err, dbdir.ErrSpace) {
		fmt.Println("full:", err) // the writer had given its reserve up
	} else {
		check("open when full", err)
		s, err := d.Open("disk", thin.Unit{})
		check("open the disk when full", err)
		check("read when full", intact(s, rounds))
		if err := s.Write(ctx, [][]byte{noise(1, page)}, s.Info().Size-page, false); !errors.Is(err, unix.ENOSPC) {
			check("write when full", fmt.Errorf("is %w", err))
		}
		if err := s.Unmap(ctx, s.Info().Size-page, page); err != nil && !errors.Is(err, unix.ENOSPC) {
			check("unmap when full", err)
		}
		check("close when full", errors.Join(s.Close(ctx), d.Close(ctx)))
	}
	check("remove", os.Remove(full))
	d, err = thin.Open(path, thin.Options{Log: quiet})
	check("open with room", err)
	s, err := d.Open("disk", thin.Unit{})
	check("open the disk with room", err)
	check("read with room", intact(s, rounds))
	check("write with room", s.Write(ctx, [][]byte{noise(1, page)}, s.Info().Size-page, true))
	check("unmap", s.Unmap(ctx, 0, s.Info().Size))
	check("close with room", errors.Join(s.Close(ctx), d.Close(ctx)))
	fmt.Println("all is well")
}

// writeWhileFilling returns how many rounds the writer told before it ended.
func writeWhileFilling(path, full, writer string, after int, check func(string, error)) (rounds int) {
	w := child(path, writer)
	out, err := w.StdoutPipe()
	check("writer", err)
	check("writer", w.Start())
	var filler *exec.Cmd
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if why, failed := strings.CutPrefix(lines.Text(), "error "); failed {
			if !strings.Contains(why, "not enough free space") {
				check("writer", errors.New(why))
			}
			break
		}
		if rounds++; rounds == after {
			filler = exec.Command("dd", "if=/dev/zero", "of="+full, "bs=64k")
			check("filler", filler.Start())
		}
		if rounds == 5000 {
			check("writer", errors.New("it never ends"))
		}
	}
	if err := w.Wait(); err != nil && w.ProcessState.ExitCode() != 1 {
		fmt.Println("the writer was ended:", w.ProcessState) // by a SIGBUS, as is to be feared
	}
	if filler == nil {
		check("writer", errors.New("it ended before the disk was full"))
	}
	_ = filler.Wait() // it fails when the disk is full
	return rounds
}

func TestFullDisk(t *testing.T) { testFullDisk(t, "full") }

func testFullDisk(t *testing.T, mode string) {
	t.Helper()
	need.Tool(t, "dd")
	cmd := child(t.TempDir(), mode)
	cmd.SysProcAttr = need.MountNamespace(t)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "all is well") {
		t.Errorf("%v", err)
	}
}
