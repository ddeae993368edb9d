package state

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// seal is what the database's files are to be when it is opened. badger meets a damaged table with a panic on a
// goroutine of its own, and a missing manifest by beginning anew; so the files are compared with the seal before badger
// sees them.
type seal struct {
	// Clean says that the database was closed: its files are those of the list, all of them. Otherwise it was open when
	// the seal was made: those of the list that are still there have not changed, and badger repairs the others.
	Clean bool               `json:"clean"`
	Files map[string]imprint `json:"files"`
}

// imprint is a file's fingerprint.
type imprint struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// fixed reports whether badger never changes the file, once it is there.
func fixed(name string) bool { return strings.HasSuffix(name, ".sst") || name == "KEYREGISTRY" }

// manifest is the file that tells badger what there is.
const manifest = "MANIFEST"

// checkSeal compares the files with the seal, if there is one, and reports whether there was.
func (s *Store) checkSeal() (bool, error) {
	b, err := os.ReadFile(s.sealPath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var want seal
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil {
		return true, fmt.Errorf("damaged: its seal %s cannot be read: %w; if only that is, remove it", s.sealPath(), err)
	}
	found, err := os.ReadDir(s.database())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // somebody has moved it away, to begin anew
	} else if err != nil {
		return true, err
	}
	left := len(want.Files)
	for _, f := range found {
		p, ok := want.Files[f.Name()]
		if !ok {
			if want.Clean {
				return true, fmt.Errorf("damaged: %s was not there when it was closed", f.Name())
			}
			continue
		}
		left--
		now, err := fingerprint(filepath.Join(s.database(), f.Name()))
		if err != nil {
			return true, fmt.Errorf("damaged: %w", err)
		}
		if now != p {
			return true, fmt.Errorf("damaged: %s has changed since it was written", f.Name())
		}
	}
	if want.Clean && left > 0 {
		return true, fmt.Errorf("damaged: %d of its %d files are missing", left, len(want.Files))
	}
	if _, err := os.Lstat(filepath.Join(s.database(), manifest)); err != nil {
		return true, fmt.Errorf("damaged: %w", err)
	}
	return true, nil
}

// putSeal makes the seal anew: of all files for a database that was closed, else of those in before.
func (s *Store) putSeal(clean bool, before map[string]imprint) error {
	now := seal{Clean: clean}
	var err error
	if now.Files, err = s.imprints(clean); err != nil {
		return err
	}
	if !clean {
		// badger is at work already. A table that it is just writing, or has written in the place of one that it found
		// unfinished, is not what it will be.
		for name, p := range now.Files {
			if before[name] != p {
				delete(now.Files, name)
			}
		}
	}
	b, err := json.MarshalIndent(&now, "", "\t")
	if err != nil {
		return err
	}
	return replaceFile(s.sealPath(), b)
}

// imprints returns those of the database's files, all or the fixed ones.
func (s *Store) imprints(all bool) (map[string]imprint, error) {
	files := make(map[string]imprint)
	found, err := os.ReadDir(s.database())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range found {
		if !all && !fixed(f.Name()) {
			continue
		}
		p, err := fingerprint(filepath.Join(s.database(), f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // compacted away meanwhile
		} else if err != nil {
			return nil, err
		}
		files[f.Name()] = p
	}
	return files, nil
}

func (s *Store) sealPath() string { return filepath.Join(s.dir, "seal") }

func fingerprint(path string) (imprint, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return imprint{}, err
	}
	if !st.Mode().IsRegular() {
		return imprint{}, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return imprint{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return imprint{Size: n, SHA256: fmt.Sprintf("%x", h.Sum(nil))}, err
}

// replaceFile makes a file hold b: after a loss of power it holds b, or what it held before.
func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
