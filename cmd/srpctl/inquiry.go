package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpctl/decode"
	"minisrp/scsi"
)

// maxInquiry is the allocation length of INQUIRY: more than any page has.
const maxInquiry = 0x4000

func (o *options) inqCommand() *cobra.Command {
	s := &scsiOptions{options: o}
	cmd := &cobra.Command{
		Use: "inq UNIT", Short: "show what a unit says it is (INQUIRY)",
		Long: `inq sends INQUIRY to a logical unit and shows its standard data, in the names that sg_inq has for the fields.
` + where,
		Example: "  srpctl inq disk0\n  srpctl inq 192.0.2.9:5555/0\n  srpctl inq disk0 --hex | sg_inq --inhex=-",
		Args:    cli.Arguments(1, 1, "a unit"), ValidArgsFunction: o.completeUnits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := scsi.Inquiry{AllocationLength: 252}
			return s.inquire(cmd, args[0], "Standard INQUIRY", q.Put, 252, decode.Inquiry)
		},
	}
	s.flags(cmd)
	return scsiExits(cmd)
}

// scsiExits says what can become of a command for a unit.
func scsiExits(cmd *cobra.Command) *cobra.Command {
	return cli.Exits(cmd, exitcode.NotFound, exitcode.Unreachable, exitcode.Unusable, exitcode.Conflict)
}

func (o *options) vpdCommand() *cobra.Command {
	s := &scsiOptions{options: o}
	all := false
	cmd := &cobra.Command{
		Use: "vpd UNIT [PAGE]", Short: "show a vital product data page of a unit",
		Long: `vpd asks a logical unit for a page of vital product data and shows it, in the names that sg_vpd has for the fields. PAGE is
a code of two hexadecimal digits, or one of sg_vpd's abbreviations: sv sn di ei bl bdc lbpv. Without PAGE it shows which
pages there are. Pages that are not decoded are shown in hexadecimal digits.
` + where,
		Example: "  srpctl vpd disk0\n  srpctl vpd disk0 83\n  srpctl vpd disk0 --all\n  srpctl vpd disk0 bl --hex | sg_vpd --inhex=- --page=bl",
		Args:    cli.Arguments(1, 2, "a unit"), ValidArgsFunction: o.completeUnits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			page := scsi.VPDSupportedPages
			if len(args) > 1 {
				var err error
				if page, err = decode.ParsePage(args[1]); err != nil {
					return exitcode.With(exitcode.Usage, err, "see: srpctl vpd --help")
				}
			}
			if !all {
				return s.vpd(cmd, args[0], page)
			}
			if len(args) > 1 || s.raw || s.json {
				return exitcode.Errorf(exitcode.Usage, "--all shows every page, in words or with --hex: no PAGE, --raw or --json beside it")
			}
			return s.allPages(cmd, args[0])
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "show every page that the unit has")
	return scsiExits(cmd)
}

func (s *scsiOptions) vpd(cmd *cobra.Command, name string, page uint8) error {
	q := scsi.Inquiry{EVPD: true, Page: page, AllocationLength: maxInquiry}
	title := fmt.Sprintf("VPD page 0x%02x", page)
	if n := decode.PageName(page); n != "" {
		title = fmt.Sprintf("%s (VPD page 0x%02x)", n, page)
	}
	return s.inquire(cmd, name, title, q.Put, maxInquiry, func(b []byte) ([]decode.Fact, error) { return decode.VPD(b, page) })
}

// allPages shows every page that the unit lists. One that cannot be had does not keep it from the others.
func (s *scsiOptions) allPages(cmd *cobra.Command, name string) error {
	v, err := within(cmd, s.options, askTime, func(ctx context.Context, c *control.Client) (*control.SCSIAnswer, error) {
		q := scsi.Inquiry{EVPD: true, AllocationLength: maxInquiry}
		return s.send(ctx, c, name, q.Put, nil, maxInquiry)
	})
	if err != nil {
		return err
	}
	pages, err := decode.Supported(v.Data)
	if err != nil {
		return err
	}
	var errs []error
	for _, page := range pages {
		errs = append(errs, s.vpd(cmd, name, page))
	}
	return errors.Join(errs...)
}

func (o *options) readcapCommand() *cobra.Command {
	s := &scsiOptions{options: o}
	short := false
	cmd := &cobra.Command{
		Use: "readcap UNIT", Short: "show how large a unit is (READ CAPACITY)",
		Long: `readcap sends READ CAPACITY(16) to a logical unit, or READ CAPACITY(10) with --10, and shows what it answers.
` + where,
		Example: "  srpctl readcap disk0\n  srpctl readcap disk0 --hex",
		Args:    cli.Arguments(1, 1, "a unit"), ValidArgsFunction: o.completeUnits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if short {
				return s.inquire(cmd, args[0], "READ CAPACITY(10)", scsi.PutReadCapacity10, scsi.Capacity10Size, decode.Capacity10)
			}
			q := scsi.ReadCapacity16{AllocationLength: scsi.Capacity16Size}
			return s.inquire(cmd, args[0], "READ CAPACITY(16)", q.Put, scsi.Capacity16Size, decode.Capacity16)
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&short, "10", false, "send READ CAPACITY(10), which says less")
	return scsiExits(cmd)
}

func (o *options) lunsCommand() *cobra.Command {
	s := &scsiOptions{options: o}
	selectReport := uint8(0)
	cmd := &cobra.Command{
		Use: "luns UNIT|TARGET", Short: "list the logical units that a target reports (REPORT LUNS)",
		Long: `luns sends REPORT LUNS to a logical unit, or to LUN 0 of a target, and lists what the target shows to the daemon. LUN 0
answers even if there is no disk.
` + where,
		Example: "  srpctl luns 192.0.2.9:5555\n  srpctl luns disk0",
		Args:    cli.Arguments(1, 1, "a unit or a target"), ValidArgsFunction: o.completeUnits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := scsi.ReportLUNs{Select: selectReport, AllocationLength: control.MaxData}
			err := s.inquire(cmd, args[0], "REPORT LUNS", q.Put, control.MaxData, decode.LUNs)
			if exitcode.Of(err) == exitcode.NotFound && s.isTarget(cmd, args[0]) {
				return s.inquire(cmd, args[0]+"/0", "REPORT LUNS", q.Put, control.MaxData, decode.LUNs)
			}
			return err
		},
	}
	s.flags(cmd)
	cmd.Flags().Uint8Var(&selectReport, "select", 0, "SELECT REPORT `code`: 0 for units, 1 for well known ones, 2 for both")
	return scsiExits(cmd)
}

// isTarget reports whether a name is a target's.
func (o *options) isTarget(cmd *cobra.Command, name string) bool {
	v, err := within(cmd, o, askTime, func(ctx context.Context, c *control.Client) (*control.Targets, error) { return c.Targets(ctx) })
	return err == nil && chooseTargets(v, []string{name}) == nil
}
