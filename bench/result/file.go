package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// VersionError says that a file has another format.
type VersionError struct {
	Path string
	Got  int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: format %d, and this program knows %d: compare results of the same format, or run the benchmark again", e.Path, e.Got, Version)
}

// Read reads what Write has written. Errors: *VersionError; those of os; a file that holds something else.
func Read(path string) (*Result, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var head struct {
		Version *int `json:"version"`
	}
	r := &Result{}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("%s: not a result of bench run: %w", path, err)
	}
	switch {
	case head.Version == nil:
		return nil, fmt.Errorf("%s: not a result of bench run: it has no format version", path)
	case *head.Version != Version:
		return nil, &VersionError{Path: path, Got: *head.Version}
	}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: not a result of bench run: %w", path, err)
	}
	return r, nil
}

// Write writes a result. What was at path before is there until the new one is complete.
func Write(path string, r *Result) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".result")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
