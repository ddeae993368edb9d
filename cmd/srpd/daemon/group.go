package daemon

import (
	"fmt"
	"os/user"
	"strconv"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/socket"
)

// GroupID returns the number of a group of this system, which is named by its name or number.
func GroupID(group string) (int, error) {
	if n, err := strconv.ParseUint(group, 10, 31); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return 0, fmt.Errorf("want the name of a group of this system, or a number: %w", err)
	}
	return strconv.Atoi(g.Gid)
}

// shareControl lets the configured group connect to the control socket.
func (d *Daemon) shareControl() error {
	if d.cfg.Group == "" {
		return nil
	}
	gid, err := GroupID(d.cfg.Group)
	if err == nil {
		err = socket.Share(d.cfg.Control, gid)
	}
	if err != nil {
		return exitcode.With(exitcode.Denied, fmt.Errorf("--control-group %s: %w", d.cfg.Group, err),
			"start srpd as root, or as a member of that group (SupplementaryGroups= in a drop-in of the unit file)")
	}
	return nil
}
