package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/paths"
)

func main() {
	err := command(os.Stdout, os.Stderr, paths.Env{Get: os.Getenv, UID: os.Getuid()}).Execute()
	if err != nil {
		exitcode.Print(os.Stderr, "srpctl", err)
	}
	os.Exit(int(exitcode.Of(err)))
}

// command is the whole program.
func command(out, errs io.Writer, env paths.Env) *cobra.Command {
	o := &options{env: env}
	commands := []*cobra.Command{
		o.listCommand(), o.showCommand(), o.addCommand(), o.removeCommand(), o.rescanCommand(), o.logoutCommand(), o.reconnectCommand(),
		o.unitsCommand(), o.pathsCommand(),
		o.channelsCommand(), o.creditsCommand(), o.latenciesCommand(), o.countersCommand(),
		o.inqCommand(), o.vpdCommand(), o.readcapCommand(), o.lunsCommand(), o.prCommand(), o.tmfCommand(),
		o.sessionsCommand(), o.faultsCommand(), o.nbdCommand(), o.versionCommand(),
	}
	root := cli.Program("srpctl", "ask a running srpd, and change what it does", `srpctl asks a running srpd what it does, and has it log in, log out, and send commands to logical units.

Targets are named by their name, address, target port identifier or login string; units by their name or identity, or
as TARGET/LUN. Tables are for people and may change; with --json the answer is what the daemon said, which has a format
number (version). What changes something can be tried with --dry-run first. What takes long tells how far it has come
on the standard error, if that is a terminal.

The daemon meant is the one of $RUNTIME_DIRECTORY, of $XDG_RUNTIME_DIR or of the default state directory, if neither
--socket nor --state-dir says which.`, out, errs, commands...)
	root.Example = "  srpctl list\n  srpctl units\n  srpctl add id_ext=0000000000000003,ioc_guid=0000000000000004,dest=192.0.2.9:5555"
	for _, c := range commands {
		asks(c)
	}
	f := root.PersistentFlags()
	f.StringVar(&o.socket, "socket", "", "`path` of the control socket (default: control.sock where srpd has it by default)")
	f.StringVar(&o.stateDir, "state-dir", "", "state `directory` that the daemon was started with")
	f.BoolVar(&o.json, "json", false, "print what the daemon says, with a format number, in the place of tables")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not tell how far something has come")
	f.DurationVar(&o.timeout, "timeout", 0, "give up after this time (default: 20s to ask, 10m to change)")
	return root
}

// asks adds what can become of every command of the program that asks the daemon, and of those below it.
func asks(c *cobra.Command) {
	cli.Exits(c, append(cli.ExitsOf(c), exitcode.NoDaemon, exitcode.Denied)...)
	for _, sub := range c.Commands() {
		asks(sub)
	}
}
