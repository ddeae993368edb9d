package scsi_test

import (
	"errors"
	"fmt"

	"minisrp/scsi"
)

// An initiator builds a command; a device server parses it and answers with sense data.
func Example() {
	var cdb scsi.CDB
	rw := scsi.RW{LBA: 5 << 32, Blocks: 8, FUA: true}
	n := rw.Put(&cdb)
	fmt.Printf("%s in %d bytes: %x\n", scsi.CommandName(cdb[:n]), n, cdb[:n])

	got, _ := scsi.ParseRW(cdb[:n])
	sense := scsi.Sense{Descriptor: true, Key: scsi.KeyIllegalRequest, ASC: scsi.ASCLBAOutOfRange,
		InformationValid: true, Information: got.LBA}
	var buf [scsi.MaxSenseSize]byte
	data := buf[:sense.Put(buf[:])]

	sense, _ = scsi.ParseSense(data)
	var err error = &scsi.SenseError{Status: scsi.StatusCheckCondition, HasSense: true, Sense: sense}
	fmt.Println(err)
	fmt.Println(errors.Is(err, scsi.ErrIllegalRequest), errors.Is(err, scsi.ErrLBAOutOfRange))
	// Output:
	// READ(16) in 16 bytes: 88080000000500000000000000080000
	// ILLEGAL REQUEST: logical block address out of range (21/00), information 0x500000000
	// true true
}

// A unit is known by its best designator.
func ExampleUnitIdentity() {
	id := scsi.NAA6(0x001405, 0xf1a2b3c4d, 0x5e6f708192a3b4c5)
	naa := scsi.Designator{Type: scsi.DesignatorNAA, CodeSet: scsi.CodeBinary, ID: id[:]}
	body := scsi.AppendT10Designator(nil, "MINISRP", "disk-0")
	body = naa.Append(body)
	name, ok := scsi.UnitIdentity(body)
	fmt.Println(name, ok)
	// Output: naa.6001405f1a2b3c4d5e6f708192a3b4c5 true
}

func ExampleLUN() {
	for _, text := range []string{"5", "16684", "0xd200012300000000"} {
		l, err := scsi.ParseLUN(text)
		n, ok := l.Unit()
		fmt.Printf("%s: %s, unit %d, %t, %v\n", l, l.Describe(), n, ok, err)
	}
	// Output:
	// 5: unit 5, unit 5, true, <nil>
	// 0x412c000000000000: flat 300, unit 300, true, <nil>
	// 0xd200012300000000: extended flat 291, unit 291, true, <nil>
}

// A log page, parameter by parameter.
func ExampleNextLogParameter() {
	body := scsi.AppendLogCounter(nil, scsi.LogTotalBytes, 1<<40)
	body = scsi.AppendLogCounter(body, scsi.LogTotalUncorrected, 2)
	page := scsi.LogPage{Page: scsi.LogReadErrors, Body: body}
	data := page.Append(nil)

	page, err := scsi.ParseLogPage(data)
	fmt.Printf("page %#02x, %v\n", page.Page, err)
	for body := page.Body; ; {
		p, rest, ok := scsi.NextLogParameter(body)
		if !ok {
			break
		}
		n, _ := p.Counter()
		fmt.Printf("parameter %d: %d\n", p.Code, n)
		body = rest
	}
	// Output:
	// page 0x03, <nil>
	// parameter 5: 1099511627776
	// parameter 6: 2
}
