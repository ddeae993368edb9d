package lun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var _ Keeper = (*File)(nil)

// Keep writes a file beside the store's own, whose name it has with the name given behind a dot. Either all of b is
// there afterwards, or what was before.
func (s *File) Keep(ctx context.Context, name string, b []byte) error {
	path, err := s.keptPath(name)
	if err != nil {
		return err
	}
	if len(b) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return syncDir(filepath.Dir(path))
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Kept reads that file.
func (s *File) Kept(ctx context.Context, name string) ([]byte, error) {
	path, err := s.keptPath(name)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

func (s *File) keptPath(name string) (string, error) {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return "", fmt.Errorf("name %q for what is kept, want letters a to z", name)
	}
	return s.path + "." + name, nil
}
