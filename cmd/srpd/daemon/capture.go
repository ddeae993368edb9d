package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"minisrp/cmd/exitcode"
	"minisrp/verbs/soft/tap"
)

// sectionHeader begins a pcapng file (its Internet draft, 4.1).
var sectionHeader = []byte{0x0a, 0x0d, 0x0d, 0x0a}

// startCapture starts to capture the fabric. A capture that is there already is overwritten, any other file is not.
func (d *Daemon) startCapture() error {
	path := d.cfg.Capture
	if err := mayOverwrite(path); err != nil {
		return fmt.Errorf("--capture %s: %w", path, err)
	}
	c, err := tap.Create(path, tap.Options{Size: d.cfg.CaptureSize, Full: func() {
		d.log.Warn("the capture has reached its size, and what comes now is not in it", keyPath, path, keySize, d.cfg.CaptureSize,
			keyAdvice, "start the daemon again to capture anew; --capture-size sets how much")
	}})
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENOTDIR):
		return exitcode.With(exitcode.Usage, fmt.Errorf("--capture: %w", err), "name a file in a directory that is there")
	case err != nil:
		return fmt.Errorf("--capture: %w", err)
	}
	d.capture = c
	d.onStop("capture", func(context.Context) error {
		// A capture that is not whole is no loss of data.
		if err := c.Close(); err != nil {
			d.log.Error("the capture is not whole", keyPath, path, keyError, err)
		}
		if n := c.Dropped(); n > 0 {
			d.log.Warn("messages are missing in the capture", keyPath, path, keyCount, n)
		}
		return nil
	})
	return nil
}

// mayOverwrite refuses what is there and no capture.
func mayOverwrite(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil || st.IsDir():
		return nil // Create has the better error
	case !st.Mode().IsRegular():
		// Opening a FIFO waits for a reader, who may never come.
		return exitcode.With(exitcode.Usage, fs.ErrInvalid, "a capture goes to a plain file: name one")
	case st.Size() == 0:
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(sectionHeader))
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, sectionHeader) {
		return exitcode.With(exitcode.Usage, fs.ErrExist, "there is a file that is no capture, and it would be overwritten: name another")
	}
	return nil
}
