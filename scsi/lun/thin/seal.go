package thin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sealed is what is known of the database's files from the last time: a file beside them says it.
type sealed struct {
	Boot  string             `json:"boot,omitempty"`  // of a database that was open: the system's then
	Files map[string]imprint `json:"files,omitempty"` // of one that was closed: all of its files
}

// imprint is how a file was left. Tables have checksums of their own.
type imprint struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
}

func (d *DB) sealPath() string { return filepath.Join(d.dir, "seal") }

// readSeal reads the seal; one that is not there says nothing.
func (d *DB) readSeal() (s sealed, err error) {
	b, err := os.ReadFile(d.sealPath())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return s, damaged("its seal %s cannot be read: %w", d.sealPath(), err)
	}
	return s, nil
}

// putSeal replaces the seal. After a loss of power it is there, or the one before.
func (d *DB) putSeal(s sealed) error {
	b, err := json.MarshalIndent(&s, "", "\t")
	if err != nil {
		return err
	}
	fresh := d.sealPath() + ".new"
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh, d.sealPath()); err != nil {
		return err
	}
	return syncDir(d.dir)
}

// sealOpen notes that the database is open; what was known of its files does not hold any more.
func (d *DB) sealOpen() error { return d.putSeal(sealed{Boot: bootID()}) }

// sealClosed notes what the files of the closed database are.
func (d *DB) sealClosed() error {
	found, err := os.ReadDir(d.files())
	if err != nil {
		return err
	}
	files := make(map[string]imprint)
	for _, f := range found {
		if files[f.Name()], err = d.imprint(f.Name()); err != nil {
			return err
		}
	}
	return d.putSeal(sealed{Files: files})
}

func (d *DB) imprint(name string) (p imprint, err error) {
	path := filepath.Join(d.files(), name)
	st, err := os.Stat(path)
	if err != nil {
		return p, err
	}
	p.Size = st.Size()
	if strings.HasSuffix(name, ".sst") {
		return p, nil
	}
	b, err := os.ReadFile(path)
	sum := sha256.Sum256(b)
	p.SHA256 = hex.EncodeToString(sum[:])
	return p, err
}

// compare holds the files of a closed database to its seal.
func (d *DB) compare(want map[string]imprint, found []fs.DirEntry) error {
	for _, f := range found {
		p, ok := want[f.Name()]
		if !ok {
			return damaged("%s was not there when it was closed", f.Name())
		}
		if now, err := d.imprint(f.Name()); err != nil {
			return damaged("%w", err)
		} else if now != p {
			return damaged("%s has changed since it was closed", f.Name())
		}
	}
	for name := range want {
		if _, err := os.Lstat(filepath.Join(d.files(), name)); err != nil {
			return damaged("%w", err)
		}
	}
	return nil
}

// bootID says which run of the system this is; "" if it cannot be told.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
