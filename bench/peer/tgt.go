package peer

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
)

// TGT is Linux's iSCSI target in user space. It does not end at SIGTERM.
var TGT = Kind{
	Name: "tgt", Abrupt: true, Prepare: fill, Setup: setupTGT,
	Command: func(p Place) []string {
		return []string{"tgtd", "-f", "-C", tgtControl, "--iscsi", fmt.Sprintf("portal=127.0.0.1:%d", p.Port)}
	},
	Env: func(p Place) []string { return []string{p.tgtSocket()} },
	URI: func(p Place) string { return fmt.Sprintf("iscsi://127.0.0.1:%d/%s/1", p.Port, tgtName) },
}

const (
	tgtName    = "iqn.2026-11.minisrp:bench"
	tgtControl = "1" // the end of the control socket's name, which must be a number
)

// tgtSocket has the control socket in the server's directory.
func (p Place) tgtSocket() string { return "TGT_IPC_SOCKET=" + p.Dir + "/control" }

// setupTGT makes a target with the file as its disk, for everybody who reaches the port.
func setupTGT(ctx context.Context, p Place) error {
	for _, args := range []string{
		"--op new --mode target --tid 1 -T " + tgtName,
		"--op new --mode logicalunit --tid 1 --lun 1 -b " + p.image(),
		"--op bind --mode target --tid 1 -I ALL",
	} {
		cmd := exec.CommandContext(ctx, "tgtadm", append([]string{"-C", tgtControl, "--lld", "iscsi"}, strings.Fields(args)...)...)
		cmd.Env = append(os.Environ(), p.tgtSocket())
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", cmd, err, out)
		}
	}
	return nil
}

// freePort returns a port of TCP that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
