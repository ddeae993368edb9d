package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpctl/decode"
	"minisrp/scsi"
)

// prOut is a service action of PERSISTENT RESERVE OUT.
type prOut struct {
	name, short, what string
	example           string // of its options
	action            uint16
	newKey            string // what --new-key is for; "": there is none
	typed             bool   // --type must be given
	persist           bool   // --aptpl and --all-ports can be
}

var prOuts = []prOut{
	{"register", "register a key for the daemon, change it, or take it back",
		"register registers --new-key for the daemon; --key is the one that it has, if it has one. --new-key 0 takes the registration back. With\n--ignore it does not matter which key the daemon has.",
		"--new-key abc", scsi.SARegister, "key to be registered; 0 to take the registration back", false, true},
	{"reserve", "reserve the unit", "reserve makes a reservation of a type for the daemon, which is registered with --key.",
		"--key abc --type write-exclusive", scsi.SAReserve, "", true, false},
	{"release", "release the reservation of the daemon", "release ends the reservation that the daemon, registered with --key, has made, of the same type.",
		"--key abc --type write-exclusive", scsi.SARelease, "", true, false},
	{"clear", "end the reservation and all registrations", "clear ends the reservation, whoever holds it, and every registration.",
		"--key abc", scsi.SAClear, "", false, false},
	{"preempt", "end the registrations with a key, and take over the reservation",
		"preempt ends the registrations with the key --new-key. If one of them holds the reservation, the daemon, registered with\n--key, has it then, with the type --type. With --abort it also ends the commands of those that it shuts out.",
		"--key abc --new-key def --type write-exclusive", scsi.SAPreempt, "key whose registrations end", true, false},
}

func (o *options) prOut(x prOut) *cobra.Command {
	var current, next key
	var typ string
	var dry, persist, allPorts, ignore, abort bool
	cmd := &cobra.Command{
		Use: x.name + " UNIT", Short: x.short, Long: x.what + "\n" + where,
		Example: "  srpctl pr " + x.name + " disk0 " + x.example,
		Args:    cli.Arguments(1, 1, "a unit"), ValidArgsFunction: o.completeUnits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := scsi.ReserveOut{Action: x.action}
			switch {
			case ignore:
				q.Action = scsi.SARegisterIgnore
			case abort:
				q.Action = scsi.SAPreemptAbort
			}
			if x.newKey != "" && !cmd.Flags().Changed("new-key") {
				return exitcode.Errorf(exitcode.Usage, "--new-key is missing, want the %s", x.newKey)
			}
			if x.typed {
				var err error
				if q.Type, err = decode.ParseType(typ); err != nil {
					return exitcode.With(exitcode.Usage, fmt.Errorf("--type: %w", err), "")
				}
			}
			list := scsi.ReserveList{Key: uint64(current), ServiceKey: uint64(next), Persist: persist, AllPorts: allPorts}
			return o.sendOut(cmd, args[0], &q, &list, dry)
		},
	}
	f := cmd.Flags()
	f.Var(&current, "key", "`key` that the daemon is registered with")
	if x.newKey != "" {
		f.Var(&next, "new-key", "`"+x.newKey[:3]+"`"+x.newKey[3:])
	}
	if x.typed {
		f.StringVar(&typ, "type", "", "`type` of reservation: write-exclusive, exclusive-access, or one of these with -registrants-only or -all-registrants behind it; or its number")
	}
	if x.persist {
		f.BoolVar(&persist, "aptpl", false, "keep registrations and reservation through a loss of power")
		f.BoolVar(&allPorts, "all-ports", false, "register at all target ports")
		f.BoolVar(&ignore, "ignore", false, "whatever key the daemon has (REGISTER AND IGNORE EXISTING KEY)")
	}
	if x.action == scsi.SAPreempt {
		f.BoolVar(&abort, "abort", false, "end the commands of those that are shut out, too (PREEMPT AND ABORT)")
	}
	dryRun(cmd, &dry)
	return scsiExits(cmd)
}

// sendOut sends a command with its list, or says what it would send.
func (o *options) sendOut(cmd *cobra.Command, name string, q *scsi.ReserveOut, list *scsi.ReserveList, dry bool) error {
	data := list.Append(nil)
	q.ParameterListLength = uint32(len(data))
	if dry {
		var cdb scsi.CDB
		n := q.Put(&cdb)
		return o.would(cmd, "send to %s: CDB %x, data %x", name, cdb[:n], data)
	}
	v, err := within(cmd, o, askTime, func(ctx context.Context, c *control.Client) (*control.SCSIAnswer, error) {
		v, err := o.send(ctx, c, name, q.Put, data, 0)
		if v != nil && exitcode.Of(err) == exitcode.Conflict {
			err = o.conflict(ctx, c, name, v, q, list, err)
		}
		return v, err
	})
	if err != nil {
		return err
	}
	return show(cmd, o, v, func(w io.Writer, v *control.SCSIAnswer) { fmt.Fprintf(w, "%s/%s: done\n", v.Target, v.LUN) })
}
