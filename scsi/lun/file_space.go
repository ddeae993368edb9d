package lun

import (
	"context"

	"golang.org/x/sys/unix"
)

var _ Metered = (*File)(nil)

// Space asks the file system for the file's blocks, and for what a user may still take.
func (s *File) Space(ctx context.Context) (p Space, err error) {
	var st unix.Stat_t
	var fs unix.Statfs_t
	err = retry(func() error { return unix.Fstat(s.fd, &st) })
	if err == nil {
		err = retry(func() error { return s.sys.statfs(s.fd, &fs) })
	}
	return Space{Used: uint64(st.Blocks) * 512, Available: fs.Bavail * uint64(fs.Bsize)}, err
}
