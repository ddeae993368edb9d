package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpctl/decode"
	"minisrp/scsi"
)

// scsiOptions are those of commands that show what a unit answers.
type scsiOptions struct {
	*options
	hex, raw bool
}

// flags declares them.
func (s *scsiOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.hex, "hex", false, "print the bytes in hexadecimal digits, as sg_inq --inhex and others read them")
	cmd.Flags().BoolVar(&s.raw, "raw", false, "print the bytes as they are")
}

// check refuses to print in two ways.
func (s *scsiOptions) check() error {
	if s.hex && s.raw || s.hex && s.json || s.raw && s.json {
		return exitcode.Errorf(exitcode.Usage, "--hex, --raw and --json: want one of them")
	}
	return nil
}

// where is a logical unit, as a user names it.
const where = `The unit is named by its name or identity, or as TARGET/LUN for one that is not served.`

// decoded is what is printed of an answer with --json: what the daemon said, and what that means.
type decoded struct {
	control.SCSIAnswer
	Decoded []decode.Fact `json:"decoded"`
}

// locate reads the name of a unit into q: a name or identity, or TARGET/LUN.
func locate(q *control.SCSI, name string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		q.Target, q.LUN = name[:i], name[i+1:]
		return
	}
	q.Unit = name
}

// send sends a command to a unit and returns the answer, which is that of a command that has succeeded.
func (o *options) send(ctx context.Context, c *control.Client, name string, put func(*scsi.CDB) int, out []byte, in int) (*control.SCSIAnswer, error) {
	q := control.SCSI{Out: out, In: in}
	locate(&q, name)
	var cdb scsi.CDB
	q.CDB = cdb[:put(&cdb)]
	v, err := c.SCSI(ctx, q)
	if err != nil {
		return nil, err
	}
	return v, refusal(v)
}

// refusal is the error of a command that has not succeeded.
func refusal(v *control.SCSIAnswer) error {
	if scsi.Status(v.Status) == scsi.StatusGood {
		return nil
	}
	text := v.StatusText
	if v.Sense != nil {
		text += ": " + v.Sense.Text
	}
	err := fmt.Errorf("%s/%s refuses %s: %s", v.Target, v.LUN, v.Command, text)
	if scsi.Status(v.Status) == scsi.StatusReservationConflict {
		return exitcode.With(exitcode.Conflict, err, "srpctl pr status tells who has reserved it")
	}
	return err
}

// inquire sends a command that is answered with data, and prints what that means by fn, under a title.
func (s *scsiOptions) inquire(cmd *cobra.Command, name, title string, put func(*scsi.CDB) int, in int, fn func([]byte) ([]decode.Fact, error)) error {
	if err := s.check(); err != nil {
		return err
	}
	v, err := within(cmd, s.options, askTime, func(ctx context.Context, c *control.Client) (*control.SCSIAnswer, error) {
		return s.send(ctx, c, name, put, nil, in)
	})
	if err != nil {
		return err
	}
	return s.answer(cmd, title, v, fn)
}

// answer prints an answer as the options say.
func (s *scsiOptions) answer(cmd *cobra.Command, title string, v *control.SCSIAnswer, fn func([]byte) ([]decode.Fact, error)) error {
	w := &sticky{w: cmd.OutOrStdout()}
	switch {
	case s.raw:
		_, _ = w.Write(v.Data)
		return w.err
	case s.hex:
		printHex(w, v.Data)
		return w.err
	}
	facts, err := fn(v.Data)
	if err != nil {
		return fmt.Errorf("%s/%s: the answer to %s: %w", v.Target, v.LUN, v.Command, err)
	}
	return show(cmd, s.options, &decoded{*v, facts}, func(w io.Writer, v *decoded) { printDecoded(w, title, v.Decoded) })
}

// printDecoded prints facts as sg3_utils do: a name, a colon, the value.
func printDecoded(w io.Writer, title string, facts []decode.Fact) {
	fmt.Fprintf(w, "%s:\n", title)
	for _, f := range facts {
		if f.Value == "" {
			fmt.Fprintf(w, "  %s\n", f.Name)
			continue
		}
		fmt.Fprintf(w, "  %s: %s\n", f.Name, f.Value)
	}
}

// printHex prints bytes, 16 a line.
func printHex(w io.Writer, b []byte) {
	for len(b) > 0 {
		n := min(16, len(b))
		words := make([]string, n)
		for i := range words {
			words[i] = hex.EncodeToString(b[i : i+1])
		}
		fmt.Fprintln(w, strings.Join(words, " "))
		b = b[n:]
	}
}
