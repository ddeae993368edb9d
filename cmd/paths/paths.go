package paths

import (
	"path/filepath"
	"strings"
)

// Env is what of the environment decides; os.Getenv and os.Getuid are the real ones.
type Env struct {
	Get func(name string) string
	UID int
}

// State returns the state directory: $STATE_DIRECTORY, which systemd sets; for root /var/lib/minisrp; else minisrp in
// $XDG_STATE_HOME, or in ~/.local/state. It returns "" for a user without a home.
func (e Env) State() string {
	if d := first(e.Get("STATE_DIRECTORY")); d != "" {
		return d
	}
	if e.UID == 0 {
		return "/var/lib/minisrp"
	}
	if d := e.Get("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "minisrp")
	}
	if d := e.Get("HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, ".local", "state", "minisrp")
	}
	return ""
}

// Runtime returns the directory of the sockets: $RUNTIME_DIRECTORY, which systemd sets; the state directory when that
// was named by the user, so that several daemons do not meet; else minisrp in $XDG_RUNTIME_DIR; else the state
// directory.
func (e Env) Runtime(state string, named bool) string {
	if d := first(e.Get("RUNTIME_DIRECTORY")); d != "" {
		return d
	}
	if d := e.Get("XDG_RUNTIME_DIR"); !named && filepath.IsAbs(d) {
		return filepath.Join(d, "minisrp")
	}
	return state
}

// first returns the first of the directories in a variable of systemd's.
func first(list string) string {
	d, _, _ := strings.Cut(list, ":")
	if !filepath.IsAbs(d) {
		return ""
	}
	return d
}

// The names of the sockets in their directory.
const (
	NBDSocket     = "nbd.sock"
	ControlSocket = "control.sock"
)
