package decode

import (
	"fmt"
	"strings"

	"minisrp/scsi"
)

// Fact is something that is known.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// facts collects them.
type facts []Fact

func (f *facts) add(name, format string, args ...any) {
	*f = append(*f, Fact{name, fmt.Sprintf(format, args...)})
}

// bit adds a field of one bit.
func (f *facts) bit(name string, is bool) {
	n := 0
	if is {
		n = 1
	}
	f.add(name, "%d", n)
}

// count adds a number of something, and what zero means if it does not mean none.
func (f *facts) count(name string, n uint64, unit, zero string) {
	if n == 0 && zero != "" {
		f.add(name, "0 (%s)", zero)
		return
	}
	f.add(name, "%s", strings.TrimSpace(fmt.Sprintf("%d %s", n, unit)))
}

// versions are what VERSION claims (SPC-5 table 151).
var versions = map[uint8]string{
	0: "no conformance claimed", 1: "SCSI-1", 2: "SCSI-2", 3: "SPC", 4: "SPC-2", 5: "SPC-3", 6: "SPC-4", 7: "SPC-5", 8: "SPC-6",
}

// devices are the words for peripheral device types.
var devices = map[scsi.DeviceType]string{
	scsi.DeviceDisk: "disk", scsi.DeviceTape: "tape", scsi.DeviceCDROM: "cd/dvd", scsi.DeviceChanger: "medium changer",
	scsi.DeviceArray: "storage array controller", scsi.DeviceEnclosure: "enclosure services device",
	scsi.DeviceZoned: "host managed zoned block device", scsi.DeviceWellKnown: "well known logical unit",
	scsi.DeviceUnknown: "no physical device on this lu",
}

// named returns a value's number and its word, if it has one.
func named[K comparable](words map[K]string, k K, format string) string {
	s := fmt.Sprintf(format, k)
	if w := words[k]; w != "" {
		s += " (" + w + ")"
	}
	return s
}

// Inquiry decodes standard INQUIRY data.
func Inquiry(b []byte) ([]Fact, error) {
	q, err := scsi.ParseStandardInquiry(b)
	if err != nil {
		return nil, err
	}
	var f facts
	f.add("Vendor identification", "%s", q.VendorText())
	f.add("Product identification", "%s", q.ProductText())
	f.add("Product revision level", "%s", q.RevisionText())
	f.add("PQual", "%d", uint8(q.Qualifier))
	f.add("PDT", "%s", named(devices, q.Device, "%d"))
	f.bit("RMB", q.Removable)
	f.add("version", "%s", named(versions, q.Version, "0x%02x"))
	f.bit("NormACA", q.NormACA)
	f.bit("HiSUP", q.HiSup)
	f.add("Resp_data_format", "%d", q.ResponseFormat)
	f.bit("SCCS", q.SCCS)
	f.add("TPGS", "%s", named(map[uint8]string{1: "implicit", 2: "explicit", 3: "implicit and explicit"}, q.TPGS, "%d"))
	f.bit("3PC", q.ThirdPartyCopy)
	f.bit("Protect", q.Protect)
	f.bit("MultiP", q.MultiPort)
	f.bit("CmdQue", q.CmdQue)
	for _, v := range q.VersionDescriptors {
		if v != 0 {
			f.add("Version descriptor", "0x%04x", v)
		}
	}
	return f, nil
}

// Capacity10 decodes READ CAPACITY(10) data.
func Capacity10(b []byte) ([]Fact, error) {
	c, err := scsi.ParseCapacity10(b)
	if err != nil {
		return nil, err
	}
	var f facts
	f.size(&c)
	return f, nil
}

// Capacity16 decodes READ CAPACITY(16) data.
func Capacity16(b []byte) ([]Fact, error) {
	c, err := scsi.ParseCapacity16(b)
	if err != nil {
		return nil, err
	}
	var f facts
	f.size(&c)
	f.bit("prot_en", c.Protected)
	f.add("p_type", "%d", c.ProtectionType)
	f.add("p_i_exponent", "%d", c.PIExponent)
	f.bit("lbpme", c.Provisioned)
	f.bit("lbprz", c.ReadsZeros)
	f.add("rc_basis", "%d", c.RCBasis)
	f.add("Logical blocks per physical block exponent", "%d (physical blocks of %d bytes)", c.PhysicalExponent, uint64(c.BlockSize)<<c.PhysicalExponent)
	f.add("Lowest aligned LBA", "%d", c.LowestAligned)
	return f, nil
}

func (f *facts) size(c *scsi.Capacity) {
	f.add("Last LBA", "%d (0x%x)", c.LastLBA, c.LastLBA)
	if n, ok := c.Blocks(); ok {
		f.add("Number of logical blocks", "%d", n)
	}
	f.add("Logical block length", "%d bytes", c.BlockSize)
	if n, ok := c.Bytes(); ok {
		f.add("Device size", "%d bytes", n)
	}
}

// LUNs decodes REPORT LUNS data.
func LUNs(b []byte) ([]Fact, error) {
	l, err := scsi.ParseLUNList(b)
	if err != nil {
		return nil, err
	}
	var f facts
	for i := range l.Len() {
		f.add(fmt.Sprintf("%016x", uint64(l.At(i))), "%s", l.At(i).Describe())
	}
	return f, nil
}
