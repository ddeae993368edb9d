package scsi

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// UnitID is the name by which a logical unit is known over all paths and restarts: one printable word
// without blanks or slashes, such as "naa.6001405f1a2b3c4d5e6f708192a3b4c5". Different designators give
// different words. It is comparable and fits file names and map keys.
type UnitID string

// UnitIdentity chooses the best designator for the logical unit from the body of a device identification
// page (83h), and returns its text; false when the page names the unit in no usable way. The order is that
// of the Linux SCSI layer: what is longer and more regulated clashes less. SCSI name string, NAA registered
// extended, UUID, EUI-64 of 16 and 12 bytes, NAA registered, other NAA, EUI-64 of 8 bytes, T10 vendor.
// Vendor specific designators are not used.
func UnitIdentity(body []byte) (UnitID, bool) {
	best, rank := Designator{}, 0
	for {
		d, rest, ok := NextDesignator(body)
		if !ok {
			break
		}
		if r := d.rank(); r > rank {
			best, rank = d, r
		}
		body = rest
	}
	if rank == 0 {
		return "", false
	}
	return best.text(), true
}

// SerialIdentity returns the name of a logical unit that has no usable designator: vendor, product and unit
// serial number; false without a serial number.
func SerialIdentity(q *StandardInquiry, serial string) (UnitID, bool) {
	if serial == "" {
		return "", false
	}
	return UnitID("serial." + word([]byte(q.VendorText())) + "," + word([]byte(q.ProductText())) + "," + word([]byte(serial))), true
}

// rank orders designators by how well they name the logical unit; zero: not at all.
func (d *Designator) rank() int {
	if d.Association != NamesUnit || len(bytes.Trim(d.ID, " \x00")) == 0 {
		return 0
	}
	n := len(d.ID)
	switch d.Type {
	case DesignatorName:
		return 90
	case DesignatorNAA:
		switch d.ID[0] >> 4 {
		case 6:
			if n == 16 {
				return 80
			}
		case 5:
			if n == 8 {
				return 50
			}
		default:
			if n == 8 {
				return 40
			}
		}
	case DesignatorUUID:
		if n == 18 && d.ID[0]>>4 == 1 {
			return 75
		}
	case DesignatorEUI64:
		switch n {
		case 16:
			return 70
		case 12:
			return 60
		case 8:
			return 30
		}
	case DesignatorT10:
		if n > 8 {
			return 20
		}
	}
	return 0
}

// text returns the designator as a UnitID. Its rank is not zero.
func (d *Designator) text() UnitID {
	switch d.Type {
	case DesignatorNAA:
		return UnitID("naa." + hex.EncodeToString(d.ID))
	case DesignatorEUI64:
		return UnitID("eui." + hex.EncodeToString(d.ID))
	case DesignatorUUID:
		h := hex.EncodeToString(d.ID[2:18])
		return UnitID("uuid." + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
	case DesignatorT10:
		return UnitID("t10." + word(bytes.TrimRight(d.ID, " \x00")))
	}
	name := bytes.TrimRight(d.ID, " \x00")
	if len(name) > 4 {
		// The same NAA or EUI-64 name may come in upper case, and as a binary designator on another path.
		switch prefix := strings.ToLower(string(name[:4])); prefix {
		case "naa.", "eui.":
			return UnitID(prefix + word(bytes.ToLower(name[4:])))
		}
	}
	return UnitID(word(name))
}

// word writes b with blanks as "_", and every byte beyond letters, digits and ".:+-" as "%" and two digits, so that
// different bytes give different words.
func word(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == ':', c == '+', c == '-':
			s.WriteByte(c)
		case c == ' ':
			s.WriteByte('_')
		default:
			s.WriteString("%" + hex2(c))
		}
	}
	return s.String()
}
