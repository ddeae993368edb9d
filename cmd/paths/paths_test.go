package paths_test

import (
	"testing"

	"minisrp/cmd/paths"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		env            map[string]string
		uid            int
		state, runtime string
		named          string // the runtime directory when the state directory is named /s
	}{
		{nil, 0, "/var/lib/minisrp", "/var/lib/minisrp", "/s"},
		{map[string]string{"XDG_RUNTIME_DIR": "/run/user/0"}, 0, "/var/lib/minisrp", "/run/user/0/minisrp", "/s"},
		{map[string]string{"STATE_DIRECTORY": "/a:/b", "RUNTIME_DIRECTORY": "/c:/d", "XDG_RUNTIME_DIR": "/e"}, 7, "/a", "/c", "/c"},
		{map[string]string{"HOME": "/home/x"}, 7, "/home/x/.local/state/minisrp", "/home/x/.local/state/minisrp", "/s"},
		{map[string]string{"HOME": "/home/x", "XDG_STATE_HOME": "/y"}, 7, "/y/minisrp", "/y/minisrp", "/s"},
		{map[string]string{"HOME": "/home/x", "XDG_STATE_HOME": "y", "XDG_RUNTIME_DIR": "z", "STATE_DIRECTORY": "q"}, 7,
			"/home/x/.local/state/minisrp", "/home/x/.local/state/minisrp", "/s"},
		{nil, 7, "", "", "/s"},
	} {
		e := paths.Env{Get: func(n string) string { return c.env[n] }, UID: c.uid}
		if s := e.State(); s != c.state || e.Runtime(s, false) != c.runtime || e.Runtime("/s", true) != c.named {
			t.Errorf("%v, uid %d: %q, %q, %q", c.env, c.uid, s, e.Runtime(s, false), e.Runtime("/s", true))
		}
	}
}
