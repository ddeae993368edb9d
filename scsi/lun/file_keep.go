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

// Keep writes a file beside the store's own; see Beside.
func (s *File) Keep(ctx context.Context, name string, b []byte) error {
	return Beside(s.path).Keep(ctx, name, b)
}

// Kept reads that file.
func (s *File) Kept(ctx context.Context, name string) ([]byte, error) {
	return Beside(s.path).Kept(ctx, name)
}

// Beside is where a store is: a path beside which it keeps what a Keeper does, in files that have the path's name with
// a dot and the name given behind it.
type Beside string

// Keep writes the file. Either all of b is there afterwards, or what was before.
func (p Beside) Keep(ctx context.Context, name string, b []byte) error {
	path, err := p.file(name)
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

// Kept reads the file.
func (p Beside) Kept(ctx context.Context, name string) ([]byte, error) {
	path, err := p.file(name)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

func (p Beside) file(name string) (string, error) {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return "", fmt.Errorf("name %q for what is kept, want letters a to z", name)
	}
	return string(p) + "." + name, nil
}
