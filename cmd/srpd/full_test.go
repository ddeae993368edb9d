package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/test/need"
)

// smallDisk mounts a file system of 256 MiB where only those see it who are given the path returned: it is another
// process's, in a mount namespace of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	holder := exec.Command("sh", "-c", "mount -t tmpfs -o size=256m tmpfs \"$0\" && echo mounted && exec cat", dir)
	holder.SysProcAttr = need.MountNamespace(t)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = holder.Wait()
	})
	path := fmt.Sprintf("/proc/%d/root%s", holder.Process.Pid, dir)
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, serr := os.Stat(path); err != nil || line != "mounted\n" || serr != nil {
		t.Fatalf("no file system of its own: %q, %v, %v", line, err, serr)
	}
	return path
}

const fullBlock = 64 << 10

// block returns what is written to a block of a disk.
func block(n int) []byte {
	return bytes.Repeat(binary.BigEndian.AppendUint64(nil, uint64(n)+1), fullBlock/8)
}

// writeBlock writes one with FUA. It returns NBD's error, and false if the daemon has gone.
func (c *client) writeBlock(n int) (errno uint32, there bool) {
	c.t.Helper()
	head := binary.BigEndian.AppendUint32(nil, 0x25609513)
	head = binary.BigEndian.AppendUint16(head, 1) // FUA
	head = binary.BigEndian.AppendUint16(head, 1) // write
	head = binary.BigEndian.AppendUint64(head, uint64(n))
	head = binary.BigEndian.AppendUint64(head, uint64(n)*fullBlock)
	head = binary.BigEndian.AppendUint32(head, fullBlock)
	reply := make([]byte, 16)
	if _, err := c.Write(append(head, block(n)...)); err != nil {
		return 0, false
	}
	if _, err := io.ReadFull(c, reply); err != nil {
		return 0, false
	}
	return binary.BigEndian.Uint32(reply[4:]), true
}

// hasBlocks reads what was acknowledged.
func (p *proc) hasBlocks(n int) {
	p.t.Helper()
	c := connect(p.t, p.socket(), "disk0")
	defer c.Close()
	for i := range n {
		c.request(0, 0, uint64(i), uint64(i)*fullBlock, fullBlock)
		if b := c.read(16); binary.BigEndian.Uint32(b[4:]) != 0 {
			p.t.Fatalf("block %d of %d cannot be read: % x", i, n, b)
		}
		if !bytes.Equal(c.read(fullBlock), block(i)) {
			p.t.Fatalf("block %d of %d is not what was written", i, n)
		}
	}
}

// hasWritten holds that all who count bytes have counted those alone that were acknowledged.
func (p *proc) hasWritten(n uint64) {
	p.t.Helper()
	c := p.counters()
	if disk, export := c.Disks[0].Write.Bytes, c.NBD.Exports[0].BytesWritten; disk != n || export != n {
		p.t.Errorf("the disk has counted %d bytes, the export %d; want %d", disk, export, n)
	}
	var targets control.Targets
	var hosted control.Hosted
	for what, v := range map[string]any{"targets": &targets, "sessions": &hosted} {
		if out, _ := p.srpctl(what, "--json"); json.Unmarshal([]byte(out), v) != nil {
			p.t.Fatalf("srpctl %s:\n%s", what, out)
		}
	}
	var channels, sessions uint64
	for _, c := range targets.Targets[0].Channels {
		channels += c.BytesOut
	}
	for _, s := range hosted.Targets[0].Sessions {
		for _, c := range s.Channels {
			sessions += c.BytesOut
		}
	}
	if channels != n || sessions != n {
		p.t.Errorf("the channels have counted %d bytes, the target %d; want %d", channels, sessions, n)
	}
}

// When others fill the file system of the disks, writes fail with ENOSPC and what was acknowledged can be read: now, and
// after the daemon has been killed; and when there is room again, it is written to.
func TestFullDisk(t *testing.T) {
	dd := need.Tool(t, "dd")
	for _, store := range []string{"badger", "file"} {
		t.Run(store, func(t *testing.T) {
			disk := smallDisk(t)
			state, full := filepath.Join(disk, "state"), filepath.Join(disk, "full")
			args := []string{"--embedded", "--store", store, "--size", "200M"}
			p := start(t, state, args...)
			c := connect(t, p.socket(), "disk0")
			var filler *exec.Cmd
			told, there := 0, true
			for ; there; told++ {
				if told == 100 {
					filler = exec.Command(dd, "if=/dev/zero", "of="+full, "bs=64k")
					if err := filler.Start(); err != nil {
						t.Fatal(err)
					}
				} else if told == 1000 {
					_ = filler.Wait() // it fails when the disk is full
				}
				var errno uint32
				if errno, there = c.writeBlock(told); errno == uint32(unix.ENOSPC) {
					break
				} else if errno != 0 || told > 3000 {
					t.Fatalf("write of block %d: error %d", told, errno)
				} else if !there {
					break
				}
			}
			if filler == nil {
				t.Fatalf("after %d blocks there is no room", told)
			} else if told < 1000 {
				_ = filler.Wait()
			}
			if there {
				p.hasBlocks(told)
				p.awaitLog("the file system is full: writes to ")
				p.hasWritten(uint64(told) * fullBlock)
				p.kill()
			} else {
				p.wait()
				t.Logf("the daemon has ended: %v", p.cmd.ProcessState) // by a SIGBUS, as is to be feared of badger
			}

			// As long as the disk is full. The other process may have ended early: it met the end of the disk while the daemon
			// moved its reserve, which left some room again.
			if out, err := exec.Command(dd, "if=/dev/zero", "of="+full, "bs=64k", "oflag=append", "conv=notrunc").CombinedOutput(); err == nil {
				t.Fatalf("dd has not filled the disk:\n%s", out)
			}
			p, ready := launch(t, state, args...)
			select {
			case <-ready:
				p.hasBlocks(told)
				p.awaitLog("the file system is full")
			case <-p.ended:
				if code := p.wait(); store == "file" || code != exitcode.State || !strings.Contains(p.errs.String(), "make room on") {
					t.Errorf("exit code %d", code)
				}
			case <-time.After(readyTime):
				t.Fatal("it is not ready")
			}

			if err := os.Remove(full); err != nil {
				t.Fatal(err)
			}
			select {
			case <-p.ended:
				p = start(t, state, args...)
			default:
			}
			p.hasBlocks(told)
			c = connect(t, p.socket(), "disk0")
			look := time.NewTicker(10 * time.Millisecond)
			defer look.Stop()
			for deadline := time.Now().Add(readyTime); ; <-look.C {
				if errno, there := c.writeBlock(told); there && errno == 0 {
					break
				} else if !there || time.Now().After(deadline) {
					t.Fatalf("no write with room: error %d", errno)
				}
			}
			p.hasBlocks(told + 1)
			p.stop()
		})
	}
}
