package paths_test

import (
	"fmt"
	"path/filepath"

	"minisrp/cmd/paths"
)

// Where a user's daemon has its control socket.
func Example() {
	env := map[string]string{"HOME": "/home/ada", "XDG_RUNTIME_DIR": "/run/user/1000"}
	e := paths.Env{Get: func(name string) string { return env[name] }, UID: 1000}
	fmt.Println(e.State())
	fmt.Println(filepath.Join(e.Runtime(e.State(), false), paths.ControlSocket))
	// Output:
	// /home/ada/.local/state/minisrp
	// /run/user/1000/minisrp/control.sock
}
