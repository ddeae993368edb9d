package pnp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/Mellanox/rdmamap"
)

// lifespan is the file beside the hardware counters that says for how many milliseconds the driver keeps their values;
// it counts nothing.
const lifespan = "lifespan"

func isCounter(name string) bool { return name != lifespan }

// isName reports whether a device can have that name: it is one element of a path.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// gone reports whether a device is not there any more.
func gone(device string) bool {
	_, err := os.Stat(filepath.Join(rdmamap.RdmaClassDir, device))
	return errors.Is(err, fs.ErrNotExist)
}

// absent is ErrNoDevice if err says that a path does not exist, else nil.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoDevice
	}
	return nil
}

// readPort reads what a port's directory says of it.
func readPort(dir string) (p Port, err error) {
	if p.State, err = readLine(filepath.Join(dir, "state")); err != nil {
		return p, err
	}
	if _, word, ok := strings.Cut(p.State, ": "); ok { // "4: ACTIVE"
		p.State = word
	}
	if p.LinkLayer, err = readLine(filepath.Join(dir, "link_layer")); err != nil {
		return p, err
	}
	if p.Rate, err = readLine(filepath.Join(dir, "rate")); err != nil {
		return p, err
	}
	return p, nil
}

func readCounter(path string) (uint64, error) {
	text, err := readLine(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s holds %q, which is no counter", path, text)
	}
	return n, nil
}

// readLine reads a file of one line. The kernel gives at most a page.
func readLine(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(data)), nil
}

func dirNames(path string) ([]string, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}
