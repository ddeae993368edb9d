package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minisrp/cmd/bytesize"
	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/config"
	"minisrp/cmd/srpd/daemon"
	"minisrp/cmd/srpd/embedded"
	"minisrp/cmd/srpd/service"
	"minisrp/srp/target/fault"
	"minisrp/verbs/dispatch/token"
)

// stopTime is how long the end may take after a signal: less than the 90 s after which systemd kills.
const stopTime = 60 * time.Second

// runOptions are the options of run that are not the daemon's as they are.
type runOptions struct {
	file      string        // of the configuration
	given     daemon.Config // by options
	cfg       daemon.Config // altogether
	embedded  bool
	faults    []string
	luns      int
	nbd       nbdOptions
	targets   []string
	size      bytesize.Size
	store     string
	logLevel  string
	logFormat string
}

func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "log in, and serve disks in the foreground until SIGTERM or SIGINT",
		Long: `run logs in to the targets, prints the URI of each disk when it is served, and runs until SIGTERM or SIGINT: then it
stops reading from clients, finishes what is under way, flushes, logs out and ends. Another signal, a second or more
later, ends it at once.

Options replace what the configuration file says; srpd validate checks it.

Disks keep their names (disk0, disk1, …) over restarts; each is also served under its identity.

With --embedded-fault the embedded target goes wrong on purpose, to see what becomes of it. A rule is a fault and its
conditions, joined by commas; all rules that match act, and the log tells at the end how often each has.

` + fault.Usage + `  Of the target:      disabled (takes no login), capacity=0 and capacity=0@LUN
`,
		Example: `  srpd run --embedded
  srpd run --embedded --store ram --luns 2 --state-dir /tmp/try --tcp 10809
  srpd run --embedded --embedded-fault 'delay=50ms,op=read,every=10' --embedded-fault 'disconnect,op=write,p=0.001'
  srpd run --config /etc/minisrp/srpd.toml
  srpd run --embedded --target id_ext=…,ioc_guid=…,dest=192.0.2.2:5555,ch_count=2`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.given = daemon.Defaults()
	c := &o.given
	f.StringVar(&o.file, "config", "", "configuration `file`, with drop-ins in the directory beside it that has .d for .toml (default: "+config.DefaultFile+" if it is there)")
	f.BoolVar(&o.embedded, "embedded", false, "have a target in the process, on a software HCA of its own")
	f.StringArrayVar(&o.targets, "target", nil, "`login string` as ib_srp's add_target takes it; may be repeated")
	f.IntSliceVar(&c.LUNs, "lun", nil, "`LUN` to serve; may be repeated (default: all that are found)")
	f.IntVar(&c.Channels, "channels", c.Channels, fmt.Sprintf("channels of a session, 1 to %d; a login string's ch_count wins", daemon.MaxChannels))
	f.IntVar(&c.QueueSize, "queue-size", c.QueueSize, "commands a channel; a login string's queue_size wins")
	f.StringVar(&c.Protect, "protect", c.Protect, "how memory is kept from targets: io, bounce or region; a login string's protect wins")
	f.IntVar(&c.Budget, "dpc-budget", c.Budget, "`number` of deferred calls that a processor runs before it lets other work have its thread")
	f.StringVar(&c.StateDir, "state-dir", "", "`directory` of state and embedded disks (default: $STATE_DIRECTORY, /var/lib/minisrp for root, else ~/.local/state/minisrp)")
	f.StringVar(&c.Socket, "socket", "", "`path` of the NBD socket (default: nbd.sock in $RUNTIME_DIRECTORY, a --state-dir, $XDG_RUNTIME_DIR/minisrp or the state directory)")
	f.StringVar(&c.TCP, "tcp", "", "serve NBD also on a TCP `address`: a port, which is of 127.0.0.1, or HOST:PORT")
	f.StringVar(&c.Control, "control", "", "`path` of the control socket (default: control.sock beside the NBD socket's default)")
	f.StringVar(&c.Group, "control-group", "", "`group` whose members may do everything at the control socket, as this user and root may: its name or number")
	f.StringVar(&c.Metrics, "metrics", "", "answer Prometheus also on a TCP `address`: a port, which is of 127.0.0.1, or HOST:PORT")
	f.StringVar(&c.Capture, "capture", "", "write what crosses the software fabric to a pcapng `file`, as RoCEv2, for Wireshark")
	f.Var((*bytesize.Size)(&c.CaptureSize), "capture-size", "end the capture before its file is larger than this `size`, with K, M, G or T for powers of 1024")
	f.BoolVar(&c.ReadOnly, "read-only", false, "let no client write")
	o.nbd.add(f, &c.NBD)
	f.StringVar(&o.store, "store", string(embedded.File), "embedded target: keep the disk in a sparse file of the state directory (file), in a database there that grows and shrinks (badger), in memory (ram) or nowhere (null)")
	f.Var(&o.size, "size", "embedded target: `size` of each disk, with K, M, G or T for powers of 1024 (default: as it is, 8G when new, 256M for ram)")
	f.IntVar(&o.luns, "luns", 1, fmt.Sprintf("embedded target: number of disks, 1 to %d", daemon.MaxUnits))
	f.StringArrayVar(&o.faults, "embedded-fault", nil, "embedded target: go wrong on purpose, by a `rule` such as delay=50ms,op=read,every=3 (see above); may be repeated")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	return cli.Exits(cmd, exitcode.NotFound, exitcode.Rejected, exitcode.InUse, exitcode.Unreachable, exitcode.Unusable, exitcode.State,
		exitcode.Denied, exitcode.Unclean, exitcode.Cut)
}

// run runs the daemon until a signal.
func (o *runOptions) run(cmd *cobra.Command) error {
	if err := o.complete(cmd); err != nil {
		return err
	}
	// The first signal ends ctx, the second the process.
	s := startSignals(o.cfg.Log, cmd.ErrOrStderr())
	defer s.stop()
	manager := service.New(o.cfg.Log)
	manager.Starting("logging in to targets")
	d, err := daemon.Start(s.ctx, o.cfg)
	if err != nil {
		if s.ctx.Err() != nil {
			return nil // asked to end before it was ready: that is no failure
		}
		return err
	}
	runtime.GOMAXPROCS(token.Procs(d.Processors()))
	announce(cmd.OutOrStdout(), d)
	manager.Ready(d.Summary())
	manager.Watch(d.Alive)
	err = attend(s.ctx, d, manager)
	manager.Stopping()
	over, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	return errors.Join(err, d.Stop(over))
}

// statusTime is how old what the service manager is told may be.
const statusTime = 2 * time.Second

// attend waits for the end, and tells the service manager what is served and what is missing.
func attend(ctx context.Context, d *daemon.Daemon, manager *service.Manager) error {
	tick := time.NewTicker(statusTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-d.Failed():
			return err
		case <-tick.C:
			manager.Status(d.Summary())
		}
	}
}

// announce tells the user, when the disks are served, where, and what to try.
func announce(w io.Writer, d *daemon.Daemon) {
	var b strings.Builder
	var first string
	area := uint64(256 << 20) // bytes, enough to see something
	uris := map[string][]string{}
	for _, x := range d.Exports() {
		uris[x.Name] = x.URIs
	}
	for _, u := range d.Units() {
		if u.Disk == nil {
			fmt.Fprintf(&b, "%s  not served: %s\n", u.Name, u.Error)
			continue
		}
		fmt.Fprintf(&b, "%s  %s  %s %s  %s\n", u.Name, bytesize.Format(u.Disk.Size), u.Vendor, u.Product, u.Identity)
		for _, uri := range uris[u.Name] {
			fmt.Fprintf(&b, "  %s\n", uri)
			if first == "" {
				first, area = uri, min(area, u.Disk.Size)
			}
		}
	}
	if first == "" {
		fmt.Fprintf(&b, "no disk is served yet: %s\n", d.Summary())
		_, _ = io.WriteString(w, b.String())
		return
	}
	fmt.Fprintf(&b, "\nTry:\n  nbdinfo '%s'\n  qemu-img bench -f raw -t none -d 32 '%s'\n", first, first)
	fmt.Fprintf(&b, "  fio --name=try --ioengine=nbd --uri='%s' --rw=randread --bs=4k --iodepth=32 --size=%s\n", first, bytesize.Format(area))
	_, _ = io.WriteString(w, b.String()) // nobody reads it: no reason to stop
}
