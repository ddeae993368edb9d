package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Profiled is srpd with a ram unit in a process of this program, which can be asked for CPU profiles.
var Profiled = Kind{Name: "srpd profiled", Command: func(p Place) []string {
	return []string{p.Bench, "serve", "--daemon", "--state-dir", p.Dir, "--size", p.size()}
}}

// ProfileSocket is where it is asked.
func ProfileSocket(stateDir string) string { return filepath.Join(stateDir, "pprof.sock") }

// Profile writes a CPU profile of so many whole seconds to a file.
func (s *Server) Profile(ctx context.Context, d time.Duration, file string) error {
	c := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", ProfileSocket(s.dir))
		},
	}}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://srpd/debug/pprof/profile?seconds=%d", int(d.Seconds())), nil)
	if err != nil {
		return err
	}
	a, err := c.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s", a.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, a.Body)
	return errors.Join(err, f.Close())
}
