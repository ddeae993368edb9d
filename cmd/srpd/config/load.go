package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/daemon"
)

// DefaultFile is the configuration of which nothing has to be said: it is read if it is there.
const DefaultFile = "/etc/minisrp/srpd.toml"

// Settings is what the files say, in full: what they do not say has its default.
type Settings struct {
	Daemon    daemon.Config // without Program and Log
	LogLevel  string        // debug, info, warn or error
	LogFormat string        // text or json
	Files     []string      // that were read
}

// Load reads a file and its drop-ins; "" is DefaultFile, which need not be there. Errors: Problems; fs.ErrNotExist for
// a file that was named; those of the system.
func Load(ctx context.Context, file string) (*Settings, error) {
	named := file != ""
	if !named {
		file = DefaultFile
	}
	files, err := dropIns(file)
	if err != nil {
		return nil, explain(err)
	}
	r := newReader()
	for i, f := range slices.Insert(files, 0, file) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		doc, err := read(f)
		if i == 0 && !named && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, explain(err)
		}
		r.document(f, doc)
	}
	return r.finish()
}

// maxFile bounds a file, in bytes: 1024 units take 100 KiB.
const maxFile = 16 << 20

func read(file string) ([]byte, error) {
	st, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if st.Size() > maxFile {
		return nil, Problems{{File: file, Text: fmt.Sprintf("it has %d bytes, want %d at most", st.Size(), maxFile)}}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return b, nil
}

// dropIns returns the drop-ins of a file, sorted.
func dropIns(file string) ([]string, error) {
	dir := strings.TrimSuffix(file, ".toml") + ".d"
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("configuration: %w", err)
	}
	var all []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".toml") && !strings.HasPrefix(e.Name(), ".") {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all, nil
}

// explain gives an error its exit code.
func explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exitcode.With(exitcode.NotFound, err, "name a file that is there with --config")
	case errors.Is(err, fs.ErrPermission):
		return exitcode.With(exitcode.Denied, err, "read it as a user who may")
	}
	if p := (Problems)(nil); errors.As(err, &p) {
		return exitcode.With(exitcode.Usage, err, "")
	}
	return err
}

// syntax returns what is wrong with a document that is no TOML.
func syntax(file string, err error) Problem {
	p := Problem{File: file, Text: "not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	if e := (*toml.DecodeError)(nil); errors.As(err, &e) {
		p.Line, _ = e.Position()
		p.Option = strings.Join(e.Key(), ".")
	}
	return p
}
