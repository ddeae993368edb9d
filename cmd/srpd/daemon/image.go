package daemon

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"minisrp/cmd/paths"
)

// ownFiles are the daemon's own in the state directory: no image may be one of them, or in one.
var ownFiles = []string{"db", "seal", "reserve", "lock", "thin", paths.NBDSocket, paths.ControlSocket}

// besideImages are the ends of names of what is kept beside images.
var besideImages = []string{".mark", ".reservations", ".mode", ".lock"}

// ImageName returns the path of LUN n of an embedded target whose configuration names none.
func ImageName(target string, n int) string {
	if target == DefaultName {
		return fmt.Sprintf("disk%d.img", n)
	}
	return fmt.Sprintf("%s-%d.img", target, n)
}

// ImagePath returns the path of an image, which is relative to the state directory. It refuses what is the daemon's own
// there, and what leads out of it without saying so. With "" as the directory it looks at relative paths only.
func ImagePath(dir, path string) (string, error) {
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(dir, path)
	}
	in := filepath.Clean(path)
	if filepath.IsAbs(path) {
		base, err := filepath.Abs(dir)
		if err == nil {
			in, err = filepath.Rel(base, path)
		}
		if dir == "" || err != nil || leadsOut(in) {
			return full, nil // elsewhere
		}
	}
	first, _, _ := strings.Cut(in, string(filepath.Separator))
	switch {
	case leadsOut(in):
		return "", fmt.Errorf("it leads out of the state directory: want a file in that, or a path that begins with /")
	case in == ".":
		return "", fmt.Errorf("it is the state directory: want a file in that, such as disk.img")
	case slices.ContainsFunc(ownFiles, func(own string) bool { return first == own || strings.HasPrefix(first, own+".") }),
		slices.ContainsFunc(besideImages, func(end string) bool { return strings.HasSuffix(in, end) }):
		return "", fmt.Errorf("that is a name of the daemon's own in the state directory: want another, such as %s.img", strings.SplitN(filepath.Base(in), ".", 2)[0])
	}
	return full, nil
}

func leadsOut(relative string) bool {
	return relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator))
}
