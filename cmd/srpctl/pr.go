package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpctl/decode"
	"minisrp/scsi"
)

func (o *options) prCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "pr", Short: "show and change persistent reservations of a unit",
		Long: `pr shows who is registered at a logical unit and who has reserved it, and registers, reserves and releases for the daemon.
The commands are those of sg_persist; keys are hexadecimal, as there. A registration is that of the daemon's initiator
port at one target port: of a unit with several paths, the first that is up.
` + where,
		Example: "  srpctl pr status disk0\n  srpctl pr register disk0 --new-key abc\n  srpctl pr reserve disk0 --key abc --type write-exclusive",
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		o.prIn("keys", "list the keys that are registered", "READ KEYS", scsi.SAReadKeys, decode.Keys),
		o.prIn("reservation", "show the reservation", "READ RESERVATION", scsi.SAReadReservation, decode.Reservation),
		o.prIn("capabilities", "show what the unit can reserve", "REPORT CAPABILITIES", scsi.SAReportCapabilities, decode.Capabilities),
		o.prIn("status", "show who is registered, with which key, and who holds the reservation", "READ FULL STATUS", scsi.SAReadFullStatus, decode.FullStatus),
	)
	for _, out := range prOuts {
		cmd.AddCommand(o.prOut(out))
	}
	return cmd
}

// maxReserve is the allocation length of PERSISTENT RESERVE IN.
const maxReserve = 0x4000

func (o *options) prIn(name, short, title string, action uint16, fn func([]byte) ([]decode.Fact, error)) *cobra.Command {
	s := &scsiOptions{options: o}
	cmd := &cobra.Command{
		Use: name + " UNIT", Short: short,
		Long:    name + " sends PERSISTENT RESERVE IN, " + title + ", to a logical unit and shows what it answers.\n" + where,
		Example: "  srpctl pr " + name + " disk0",
		Args:    cli.Arguments(1, 1, "a unit"), ValidArgsFunction: o.completeUnits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := scsi.ReserveIn{Action: action, AllocationLength: maxReserve}
			return s.inquire(cmd, args[0], title, q.Put, maxReserve, fn)
		},
	}
	s.flags(cmd)
	return scsiExits(cmd)
}

// key is a reservation key: hexadecimal digits, with or without 0x.
type key uint64

func (k *key) String() string {
	if *k == 0 {
		return ""
	}
	return "0x" + strconv.FormatUint(uint64(*k), 16)
}

func (k *key) Type() string { return "key" }

func (k *key) Set(s string) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(s), "0x"), 16, 64)
	if err != nil {
		return exitcode.Errorf(exitcode.Usage, "want up to 16 hexadecimal digits")
	}
	*k = key(n)
	return nil
}
