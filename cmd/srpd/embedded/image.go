package embedded

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"

	"minisrp/scsi/lun"
)

// ErrImage says that a disk image is not the one that was there before: it is lost, cut, or another. The text says what
// the user can do.
var ErrImage = errors.New("not the image that was there")

// imageMark is what is known of the image of a unit in a file. It is kept beside it, in the file of its name and ".mark".
type imageMark struct {
	Size uint64 `json:"size"` // bytes
	ID   string `json:"id"`   // also in the image's extended attribute, where the file system has them
}

const (
	markName = "mark"
	markAttr = "user.minisrp.id"
)

// checkImage compares the file at path with what is known of it. Errors: ErrImage, those of the system.
func checkImage(ctx context.Context, path string, log *slog.Logger) error {
	known, err := readMark(ctx, path)
	if known == nil {
		return err
	}
	st, err := os.Stat(path)
	accept := fmt.Sprintf("or remove %s.%s to take what is there", path, markName)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode().IsRegular() && st.Size() == 0:
		return fmt.Errorf("%w: it had %d bytes, and is gone: put it back, %s", ErrImage, known.Size, accept)
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return nil // which has an error of its own
	case uint64(st.Size()) < known.Size:
		return fmt.Errorf("%w: it had %d bytes, and has %d: put back what was cut off, %s", ErrImage, known.Size, st.Size(), accept)
	}
	b := make([]byte, 64)
	n, err := unix.Getxattr(path, markAttr, b)
	switch id := string(b[:max(0, n)]); {
	case err == nil && id != known.ID:
		return fmt.Errorf("%w: it is another one, of the same size or larger: put it back, %s", ErrImage, accept)
	case errors.Is(err, unix.ENODATA):
		log.Warn("the disk image may be another than before: it was replaced or copied", "path", path)
	}
	return nil
}

// readMark returns nil if nothing is known.
func readMark(ctx context.Context, path string) (*imageMark, error) {
	b, err := lun.Beside(path).Kept(ctx, markName)
	if err != nil || b == nil {
		return nil, err
	}
	m := new(imageMark)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%s.%s: %w: remove it to take the image as it is", path, markName, err)
	}
	return m, nil
}

// markImage notes what the image at path, which is open, is. That is no reason to fail.
func markImage(ctx context.Context, path string, size uint64, log *slog.Logger) {
	known, _ := readMark(ctx, path) // it has been read before
	if known == nil {
		known = &imageMark{ID: newID()}
	} else if known.Size == size && hasMark(path, known.ID) {
		return
	}
	known.Size = size
	if err := unix.Setxattr(path, markAttr, []byte(known.ID), 0); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		log.Warn("the disk image is not marked", "path", path, "error", err)
	}
	b, err := json.Marshal(known)
	if err == nil {
		err = lun.Beside(path).Keep(ctx, markName, b)
	}
	if err != nil {
		log.Warn("the disk image is not marked", "path", path, "error", err)
	}
}

// hasMark reports whether the image has its mark, or cannot have one.
func hasMark(path, id string) bool {
	b := make([]byte, 64)
	n, err := unix.Getxattr(path, markAttr, b)
	return errors.Is(err, unix.EOPNOTSUPP) || err == nil && string(b[:n]) == id
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
