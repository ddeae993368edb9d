package srp_test

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"minisrp/srp"
	"minisrp/verbs"
)

const (
	rdmaString = "id_ext=0002c90300a1b2c3,ioc_guid=0002c90300a1b2c4,dest=192.0.2.11:5555"
	ibString   = "id_ext=0002c90300a1b2c3,ioc_guid=0002c90300a1b2c4,dgid=fe800000000000000002c90300a1b2c5,pkey=ffff,service_id=0002c90300a1b2c3"
)

func mustParse(t *testing.T, s string) *srp.TargetOptions {
	t.Helper()
	o, err := srp.ParseTarget(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return o
}

// replaced returns a login string with an option in the place of what it says of the same.
func replaced(base, token string) string {
	name, _, _ := strings.Cut(token, "=")
	rest := slices.DeleteFunc(strings.Split(base, ","), func(s string) bool { return strings.HasPrefix(s, name+"=") })
	return strings.Join(append(rest, token), ",")
}

// TestOptionValues has every option with the values that it takes, and what the same options look like when printed.
func TestOptionValues(t *testing.T) {
	type options = srp.TargetOptions
	num := srp.Given[int]
	for _, c := range []struct {
		base, token string // the token replaces what the base says of the same option
		set         func(*options)
		printed     string // instead of the token; - if not at all
	}{
		{rdmaString, "id_ext=1", func(o *options) { o.IDExt = 1 }, "id_ext=0000000000000001"},
		{rdmaString, "id_ext=0xFFffFFffFFffFFff", func(o *options) { o.IDExt = math.MaxUint64 }, "id_ext=ffffffffffffffff"},
		{rdmaString, "ioc_guid=0X000000000000002", func(o *options) { o.IOCGUID = 2 }, "ioc_guid=0000000000000002"},
		{rdmaString, "ioc_guid=0", func(o *options) { o.IOCGUID = 0 }, "ioc_guid=0000000000000000"},
		{ibString, "dgid=FE80000000000000000000000000000a",
			func(o *options) { o.DGID = verbs.GID{0xfe, 0x80, 15: 10} }, "dgid=fe80000000000000000000000000000a"},
		{ibString, "pkey=7fff", func(o *options) { o.PKey = 0x7fff }, ""},
		{ibString, "pkey=0x1", func(o *options) { o.PKey = 1 }, "pkey=0001"},
		{ibString, "service_id=0x66", func(o *options) { o.ServiceID = 0x66 }, "service_id=0000000000000066"},
		{rdmaString, "dest=198.51.100.255:65535", func(o *options) { o.Dest = netip.MustParseAddrPort("198.51.100.255:65535") }, ""},
		{rdmaString, "dest=[2001:db8::7]:1", func(o *options) { o.Dest = netip.MustParseAddrPort("[2001:db8::7]:1") }, ""},
		{rdmaString, "dest=[2001:DB8:0:0::7]:1", func(o *options) { o.Dest = netip.MustParseAddrPort("[2001:db8::7]:1") }, "dest=[2001:db8::7]:1"},
		{rdmaString, "dest=[fe80::1%eth0.100]:5555", func(o *options) { o.Dest = netip.MustParseAddrPort("[fe80::1%eth0.100]:5555") }, ""},
		{rdmaString, "dest=[fe80::1%3]:5555", func(o *options) { o.Dest = netip.MustParseAddrPort("[fe80::1%3]:5555") }, ""},
		{rdmaString, "src=192.0.2.10", func(o *options) { o.Src = netip.MustParseAddrPort("192.0.2.10:0") }, ""},
		{rdmaString, "src=192.0.2.10:0", func(o *options) { o.Src = netip.MustParseAddrPort("192.0.2.10:0") }, "src=192.0.2.10"},
		{rdmaString, "src=192.0.2.10:700", func(o *options) { o.Src = netip.MustParseAddrPort("192.0.2.10:700") }, ""},
		{rdmaString, "initiator_ext=0xfe80000000000000", func(o *options) { o.InitiatorExt = 0xfe80 << 48 }, "initiator_ext=fe80000000000000"},
		{rdmaString, "initiator_ext=0", func(o *options) {}, "-"},
		{rdmaString, "max_sect=1", func(o *options) { o.MaxSectors = num(1) }, ""},
		{rdmaString, "max_sect=131072", func(o *options) { o.MaxSectors = num(131072) }, ""},
		{rdmaString, "max_cmd_per_lun=1", func(o *options) { o.CommandsPerLUN = num(1) }, ""},
		{rdmaString, "max_cmd_per_lun=2147483647", func(o *options) { o.CommandsPerLUN = num(math.MaxInt32) }, ""},
		{rdmaString, "target_can_queue=128", func(o *options) { o.TargetCanQueue = num(128) }, ""},
		{rdmaString, "queue_size=1", func(o *options) { o.QueueSize = num(1) }, ""},
		{rdmaString, "queue_size=4096", func(o *options) { o.QueueSize = num(4096) }, ""},
		{rdmaString, "queue_size=0x20", func(o *options) { o.QueueSize = num(32) }, "queue_size=32"},
		{rdmaString, "queue_size=040", func(o *options) { o.QueueSize = num(32) }, "queue_size=32"},
		{rdmaString, "io_class=0100", func(o *options) { o.IOClass = srp.IOClassR16a }, "-"},
		{rdmaString, "io_class=0xff00", func(o *options) { o.IOClass = srp.IOClassR10 }, "io_class=ff00"},
		{rdmaString, "cmd_sg_entries=1", func(o *options) { o.CommandEntries = num(1) }, ""},
		{rdmaString, "cmd_sg_entries=255", func(o *options) { o.CommandEntries = num(255) }, ""},
		{rdmaString, "allow_ext_sg=0", func(o *options) { o.AllowExtSG = srp.Given(false) }, ""},
		{rdmaString, "allow_ext_sg=1", func(o *options) { o.AllowExtSG = srp.Given(true) }, ""},
		{rdmaString, "allow_ext_sg=-7", func(o *options) { o.AllowExtSG = srp.Given(true) }, "allow_ext_sg=1"},
		{rdmaString, "sg_tablesize=1", func(o *options) { o.TableSize = num(1) }, ""},
		{rdmaString, "sg_tablesize=2048", func(o *options) { o.TableSize = num(2048) }, ""},
		{rdmaString, "comp_vector=0", func(o *options) { o.CompVector = num(0) }, ""},
		{rdmaString, "comp_vector=71", func(o *options) { o.CompVector = num(71) }, ""},
		{rdmaString, "tl_retry_count=2", func(o *options) { o.RetryCount = num(2) }, ""},
		{rdmaString, "tl_retry_count=7", func(o *options) { o.RetryCount = num(7) }, ""},
		{rdmaString, "max_it_iu_size=0", func(o *options) { o.MaxIUSize = num(0) }, ""},
		{rdmaString, "max_it_iu_size=64", func(o *options) { o.MaxIUSize = num(64) }, ""},
		{rdmaString, "max_it_iu_size=8260", func(o *options) { o.MaxIUSize = num(8260) }, ""},
		{rdmaString, "ch_count=1", func(o *options) { o.Channels = num(1) }, ""},
		{rdmaString, "ch_count=64", func(o *options) { o.Channels = num(64) }, ""},
		{rdmaString, "imm_data=0", func(o *options) { o.ImmediateData = num(0) }, ""},
		{rdmaString, "imm_data=65536", func(o *options) { o.ImmediateData = num(65536) }, ""},
		{rdmaString, "protect=io", func(o *options) { o.Protect = srp.Given(srp.ProtectIO) }, ""},
		{rdmaString, "protect=bounce", func(o *options) { o.Protect = srp.Given(srp.ProtectBounce) }, ""},
		{rdmaString, "protect=region", func(o *options) { o.Protect = srp.Given(srp.ProtectRegion) }, ""},
	} {
		want := *mustParse(t, c.base)
		c.set(&want)
		got := mustParse(t, replaced(c.base, c.token))
		if *got != want {
			t.Errorf("%s: parsed %+v, want %+v", c.token, *got, want)
		}
		name, _, _ := strings.Cut(c.token, "=")
		printed := c.printed
		switch printed {
		case "":
			printed = c.token
		case "-":
			if strings.Contains(got.String(), name) {
				t.Errorf("%s is printed in %q", c.token, got)
			}
			continue
		}
		if !strings.Contains(","+got.String()+",", ","+printed+",") {
			t.Errorf("%s: printed %q, without %q", c.token, got, printed)
		}
	}
}

// TestOptionErrors has every option with what it does not take; the text names option, value and what would be right.
func TestOptionErrors(t *testing.T) {
	for _, c := range []struct {
		base  string
		token string
		text  string // of the error, behind the token
	}{
		{rdmaString, "id_ext=", "id_ext has no value: want the target port's identifier extension"},
		{rdmaString, "id_ext=0x", "hexadecimal"},
		{rdmaString, "id_ext=10000000000000000", "up to 16 hexadecimal digits"},
		{rdmaString, "id_ext=00000000000000001", "up to 16 hexadecimal digits"},
		{rdmaString, "ioc_guid=0x00000000000000001", "up to 16 hexadecimal digits"},
		{rdmaString, "initiator_ext=00000000000000000", "up to 16 hexadecimal digits"},
		{ibString, "pkey=0ffff", "up to 4 hexadecimal digits"},
		{rdmaString, "io_class=00100", "0100 (SRP r16a) or ff00 (SRP r10)"},
		{rdmaString, "id_ext=-1", "hexadecimal"},
		{rdmaString, "id_ext=+1", "hexadecimal"},
		{rdmaString, "id_ext=1_0", "hexadecimal"},
		{rdmaString, "ioc_guid=xyz", "the target's I/O controller GUID"},
		{rdmaString, "initiator_ext=fe80::", "hexadecimal"},
		{ibString, "dgid=fe80", "exactly 32 hexadecimal digits"},
		{ibString, "dgid=fe800000000000000002c90300a1b2c", "exactly 32"},
		{ibString, "dgid=fe800000000000000002c90300a1b2c55", "exactly 32"},
		{ibString, "dgid=fe80:0000:0000:0000:0002:c903:00a1:b2c5", "without colons"},
		{ibString, "dgid=0xfe800000000000000002c90300a1b2c5", "exactly 32"},
		{ibString, "dgid=0xfe800000000000000002c90300a1b2", "exactly 32"},
		{ibString, "dgid=ge800000000000000002c90300a1b2c5", "exactly 32"},
		{ibString, "pkey=10000", "up to 4 hexadecimal digits"},
		{ibString, "service_id=s", "hexadecimal"},
		{rdmaString, "dest=192.0.2.11", "192.0.2.1:5555"},
		{rdmaString, "dest=192.0.2.11:", "192.0.2.1:5555"},
		{rdmaString, "dest=192.0.2.11:0", "address and port"},
		{rdmaString, "dest=192.0.2.11:65536", "address and port"},
		{rdmaString, "dest=192.0.2.11:-5", "address and port"},
		{rdmaString, "dest=192.0.2.256:5555", "address and port"},
		{rdmaString, "dest=192.0.2.011:5555", "address and port"},
		{rdmaString, "dest=[192.0.2.11]:5555", "address and port"},
		{rdmaString, "dest=2001:db8::1:5555", "[2001:db8::1]:5555"},
		{rdmaString, "dest=[2001:db8::1]", "[2001:db8::1]:5555"},
		{rdmaString, "dest=[2001:db8::1:5555", "address and port"},
		{rdmaString, "dest=[2001:db8::1]5555", "address and port"},
		{rdmaString, "dest=[fe80::1%]:5555", "[fe80::1%eth0]:5555"},
		{rdmaString, "dest=[fe80::1%a name]:5555", "[fe80::1%eth0]:5555"},
		{rdmaString, "dest=[fe80::1%sixteen-letters-]:5555", "[fe80::1%eth0]:5555"},
		{rdmaString, "dest=[]:5555", "address and port"},
		{rdmaString, "dest=:5555", "address and port"},
		{rdmaString, "dest=storage.example:5555", "address and port"},
		{rdmaString, "src=192.0.2.10:x", "192.0.2.1:5000"},
		{rdmaString, "src=2001:db8::1", "[2001:db8::1]"},
		{rdmaString, "src=[2001:db8::1]", "IPv4 with IPv4"},
		{rdmaString, "max_sect=0", "1 to 2147483647"},
		{rdmaString, "max_sect=-1", "1 to 2147483647"},
		{rdmaString, "max_cmd_per_lun=0", "1 to 2147483647"},
		{rdmaString, "target_can_queue=0", "1 to 2147483647"},
		{rdmaString, "queue_size=0", "1 to 4096"},
		{rdmaString, "queue_size=4097", "1 to 4096"},
		{rdmaString, "queue_size=2147483648", "1 to 4096"},
		{rdmaString, "queue_size=99999999999999999999", "1 to 4096"},
		{rdmaString, "queue_size=32k", "1 to 4096"},
		{rdmaString, "queue_size=08", "1 to 4096"},
		{rdmaString, "queue_size=0x", "1 to 4096"},
		{rdmaString, "queue_size=0b1", "1 to 4096"},
		{rdmaString, "queue_size=1_0", "1 to 4096"},
		{rdmaString, "queue_size=--1", "1 to 4096"},
		{rdmaString, "queue_size=+1", "1 to 4096"},
		{rdmaString, "queue_size= 1", "1 to 4096"},
		{rdmaString, "io_class=0200", "0100 (SRP r16a) or ff00 (SRP r10)"},
		{rdmaString, "io_class=10100", "0100 (SRP r16a) or ff00 (SRP r10)"},
		{rdmaString, "cmd_sg_entries=0", "1 to 255 (descriptors)"},
		{rdmaString, "cmd_sg_entries=256", "1 to 255 (descriptors)"},
		{rdmaString, "allow_ext_sg=yes", "1 to allow"},
		{rdmaString, "sg_tablesize=0", "1 to 2048"},
		{rdmaString, "sg_tablesize=2049", "1 to 2048"},
		{rdmaString, "comp_vector=-1", "0 to 2147483647"},
		{rdmaString, "tl_retry_count=1", "2 to 7"},
		{rdmaString, "tl_retry_count=8", "2 to 7"},
		{rdmaString, "max_it_iu_size=-1", "0 for no cap"},
		{rdmaString, "max_it_iu_size=63", "64 or more"},
		{rdmaString, "ch_count=0", "1 to 64"},
		{rdmaString, "ch_count=65", "1 to 64"},
		{rdmaString, "imm_data=-1", "0 to 65536"},
		{rdmaString, "imm_data=65537", "0 to 65536"},
		{rdmaString, "protect=IO", "io, bounce or region"},
		{rdmaString, "protect=none", "io, bounce or region"},
	} {
		o, err := srp.ParseTarget(replaced(c.base, c.token))
		name, value, _ := strings.Cut(c.token, "=")
		var oe *srp.OptionError
		if !errors.As(err, &oe) || o != nil {
			t.Errorf("%q: %v, %v; want *OptionError", c.token, o, err)
			continue
		}
		if oe.Option != name || oe.Value != value || oe.Want == "" {
			t.Errorf("%q: %+v", c.token, *oe)
		}
		text := err.Error()
		if !strings.Contains(text, "srp: login option "+name) || !strings.Contains(text, value) || !strings.Contains(text, c.text) {
			t.Errorf("%q: the error %q lacks the option, the value, or %q", c.token, text, c.text)
		}
	}
}

// TestOptionNames: an option that is unknown, or has no value, is an error, never skipped; a near name is suggested.
func TestOptionNames(t *testing.T) {
	for _, c := range []struct{ token, option, text string }{
		{"que_size=1", "que_size", "que_size=1 is unknown: want queue_size; did you mean"},
		{"queue-size=1", "queue-size", "want queue_size"},
		{"QUEUE_SIZE=1", "QUEUE_SIZE", "want queue_size"},
		{" queue_size=1", " queue_size", `option " queue_size"=1 is unknown: want queue_size`},
		{"tid_ext=1", "tid_ext", "want id_ext"},
		{"dst=192.0.2.1:5555", "dst", "want dest"},
		{"retry_count=7", "retry_count", "want tl_retry_count"},
		{"max_imm_data=8192", "max_imm_data", "want imm_data"},
		{"max_sectors=8", "max_sectors", "want max_sect"},
		{"ioc_giud=8", "ioc_giud", "want ioc_guid"},
		{"colour=red", "colour", "want one of id_ext, ioc_guid, dgid,"},
		{"=1", "", `option ""=1 is unknown: want one of`},
		{strings.Repeat("queue_size", 100) + "=1", strings.Repeat("queue_size", 100), "…=1 is unknown: want one of"},
		{"queue_size", "queue_size", "queue_size has no value: want 1 to 4096"},
		{"queue_size==1", "queue_size", "queue_size==1: want 1 to"},
		{"comp_vector=" + strings.Repeat("\x00", 1000), "comp_vector", `comp_vector="\x00`},
	} {
		_, err := srp.ParseTarget(replaced(rdmaString, c.token))
		var oe *srp.OptionError
		if !errors.As(err, &oe) || oe.Option != c.option || !strings.Contains(err.Error(), c.text) || len(err.Error()) > 600 {
			t.Errorf("%q: %v, want option %q and %q", c.token, err, c.option, c.text)
		}
	}
}

// TestOptionTwice: ib_srp takes the last value of an option that is repeated, which hides a mistake.
func TestOptionTwice(t *testing.T) {
	for _, base := range []string{rdmaString, ibString} {
		for token := range strings.SplitSeq(base, ",") {
			name, value, _ := strings.Cut(token, "=")
			_, err := srp.ParseTarget(base + "," + token)
			var oe *srp.OptionError
			if !errors.As(err, &oe) || oe.Option != name || oe.Value != value || !strings.Contains(err.Error(), "is given twice: want "+name+" once") {
				t.Errorf("%s twice: %v", name, err)
			}
		}
	}
	_, err := srp.ParseTarget(rdmaString + ",queue_size=3,ch_count=2\nqueue_size=4")
	if err == nil || !strings.Contains(err.Error(), "queue_size=4 is given twice: want queue_size once; it was 3 before") {
		t.Error(err)
	}
}

// TestMandatoryOptions: each of the two sets is complete, and they do not mix.
func TestMandatoryOptions(t *testing.T) {
	for _, base := range []string{rdmaString, ibString} {
		tokens := strings.Split(base, ",")
		for i, token := range tokens {
			rest := strings.Join(append(append([]string{}, tokens[:i]...), tokens[i+1:]...), ",")
			name, _, _ := strings.Cut(token, "=")
			_, err := srp.ParseTarget(rest)
			var oe *srp.OptionError
			if !errors.As(err, &oe) || oe.Option != name || oe.Value != "" || !strings.Contains(err.Error(), name+" is missing: want ") {
				t.Errorf("without %s: %v", name, err)
			}
		}
	}
	for _, c := range []struct{ s, option, text string }{
		{"", "id_ext", "is missing"},
		{",\n,", "id_ext", "is missing"},
		{"id_ext=1,ioc_guid=1,src=192.0.2.1", "dest", "is missing"},
		{rdmaString + ",pkey=ffff", "dest", "dest=192.0.2.11:5555 cannot stand together with pkey: want either"},
		{ibString + ",dest=192.0.2.11:5555", "dest", "together with dgid"},
		{ibString + ",src=192.0.2.11", "src", "src=192.0.2.11 cannot stand together with dgid"},
		{"id_ext=1,ioc_guid=1,src=[::1],service_id=1", "src", "together with service_id"},
	} {
		_, err := srp.ParseTarget(c.s)
		var oe *srp.OptionError
		if !errors.As(err, &oe) || oe.Option != c.option || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v, want option %s and %q", c.s, err, c.option, c.text)
		}
	}
}

// TestLoginStringForms has strings as they are found in use: as scripts echo them with a newline, as ibsrpdm -c prints
// them, and as the login scripts of blktests build them (a comma in front, an empty token
// behind).
func TestLoginStringForms(t *testing.T) {
	for _, c := range []struct{ s, canonical string }{
		{rdmaString + "\n", rdmaString},
		{strings.ReplaceAll(ibString, ",", "\n") + "\n", ibString},
		{",,\n" + ibString + ",,", ibString},
		{"id_ext=0x505400fffe123456,ioc_guid=0x505400fffe123456,initiator_ext=fe80000000000000,src=192.0.2.10,dest=192.0.2.11:5555\n",
			"id_ext=505400fffe123456,ioc_guid=505400fffe123456,dest=192.0.2.11:5555,src=192.0.2.10,initiator_ext=fe80000000000000"},
		{",id_ext=0x505400fffe123456,initiator_ext=fe80000000000000,ioc_guid=0x505400fffe123456,src=[fe80::1%3],dest=[fe80::1%3]:5555,cmd_sg_entries=255,queue_size=32",
			"id_ext=505400fffe123456,ioc_guid=505400fffe123456,dest=[fe80::1%3]:5555,src=[fe80::1%3],initiator_ext=fe80000000000000,queue_size=32,cmd_sg_entries=255"},
		{"id_ext=0x2,ioc_guid=0x2,dgid=fe800000000000000000000000000001,pkey=7fff,service_id=0x2,",
			"id_ext=0000000000000002,ioc_guid=0000000000000002,dgid=fe800000000000000000000000000001,pkey=7fff,service_id=0000000000000002"},
		{"max_it_iu_size=4148,ch_count=2,io_class=ff00,tl_retry_count=2,initiator_ext=0002c90300a1b2c5," + ibString,
			ibString + ",io_class=ff00,initiator_ext=0002c90300a1b2c5,tl_retry_count=2,ch_count=2,max_it_iu_size=4148"},
		{"protect=bounce,imm_data=0,max_it_iu_size=276,allow_ext_sg=2," + rdmaString,
			rdmaString + ",allow_ext_sg=1,max_it_iu_size=276,imm_data=0,protect=bounce"},
	} {
		if got := mustParse(t, c.s).String(); got != c.canonical {
			t.Errorf("%q\nprints as %q\nwant      %q", c.s, got, c.canonical)
		}
	}
}

func TestTargetPortIDs(t *testing.T) {
	s := "id_ext=0102030405060708,ioc_guid=1112131415161718,initiator_ext=2122232425262728,dest=192.0.2.1:1"
	o := mustParse(t, s)
	if got := o.Target().String() + o.Initiator(0x3132333435363738).String(); got != "0x01020304050607081112131415161718"+"0x21222324252627283132333435363738" {
		t.Errorf("r16a: %s", got)
	}
	o = mustParse(t, s+",io_class=ff00")
	if got := o.Target().String() + o.Initiator(0x3132333435363738).String(); got != "0x11121314151617180102030405060708"+"0x31323334353637382122232425262728" {
		t.Errorf("r10: %s", got)
	}
}

func TestDuplicate(t *testing.T) {
	o := mustParse(t, rdmaString)
	for s, want := range map[string]bool{
		rdmaString:                      true,
		ibString:                        true, // another address makes no difference
		rdmaString + ",ch_count=3":      true,
		rdmaString + ",initiator_ext=0": true,
		rdmaString + ",initiator_ext=1": false,
		strings.Replace(rdmaString, "id_ext=0", "id_ext=1", 1):     false,
		strings.Replace(rdmaString, "ioc_guid=0", "ioc_guid=1", 1): false,
	} {
		if got := o.Duplicate(mustParse(t, s)); got != want {
			t.Errorf("%s: duplicate is %t", s, got)
		}
	}
}

// TestConfigure: what is not given has ib_srp's default.
func TestConfigure(t *testing.T) {
	rdma := verbs.Address{Dst: netip.MustParseAddrPort("192.0.2.11:5555")}
	target := mustParse(t, rdmaString).Target()
	for _, c := range []struct {
		s           string
		want        srp.SessionConfig
		depth, sect int
	}{
		{rdmaString, srp.SessionConfig{Address: rdma, Target: target, Channels: 9, QueueSize: 62, DescriptorsInIU: 12, MaxSegments: 12,
			ImmediateData: 8192, RetryCount: 7}, 62, 1024},
		{ibString, srp.SessionConfig{Address: verbs.Address{DGID: verbs.GID{0xfe, 0x80, 9: 2, 0xc9, 3, 0, 0xa1, 0xb2, 0xc5}, PKey: 0xffff,
			ServiceID: 0x0002c90300a1b2c3}, Target: target, Channels: 9, QueueSize: 62, DescriptorsInIU: 12, MaxSegments: 12,
			ImmediateData: 8192, RetryCount: 7}, 62, 1024},
		{rdmaString + ",queue_size=32,cmd_sg_entries=255,sg_tablesize=2048,ch_count=4,tl_retry_count=2,max_it_iu_size=4148,imm_data=0,protect=region,max_sect=131072",
			srp.SessionConfig{Address: rdma, Target: target, Channels: 4, QueueSize: 32, DescriptorsInIU: 255, MaxSegments: 255,
				MaxIUSize: 4148, RetryCount: 2, Protect: srp.ProtectRegion}, 32, 131072},
		{rdmaString + ",allow_ext_sg=1,sg_tablesize=2048,protect=io,max_cmd_per_lun=8,queue_size=32,src=192.0.2.10",
			srp.SessionConfig{Address: verbs.Address{Dst: rdma.Dst, Src: netip.MustParseAddrPort("192.0.2.10:0")}, Target: target, Channels: 9,
				QueueSize: 32, DescriptorsInIU: 12, MaxSegments: 2048, AllowExternalTable: true, ImmediateData: 8192, RetryCount: 7,
				Protect: srp.ProtectIO}, 8, 1024},
		{rdmaString + ",queue_size=4096,ch_count=64", srp.SessionConfig{Address: rdma, Target: target, Channels: srp.MaxChannels,
			QueueSize: srp.MaxQueueSize, DescriptorsInIU: 12, MaxSegments: 12, ImmediateData: 8192, RetryCount: 7}, 4096, 1024},
	} {
		o := mustParse(t, c.s)
		got := srp.SessionConfig{Channels: 9, Protect: srp.ProtectBounce}
		if !o.Protect.Given {
			c.want.Protect = srp.ProtectBounce
		}
		o.Configure(&got)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.s, got, c.want)
		}
		if o.LUNDepth() != c.depth || o.Sectors() != c.sect {
			t.Errorf("%s: LUN depth %d, sectors %d; want %d, %d", c.s, o.LUNDepth(), o.Sectors(), c.depth, c.sect)
		}
	}
}

// FuzzParseTarget: no string panics; an error is an OptionError with a text of bounded length; and what is accepted
// prints as a string that means the same and prints as itself.
func FuzzParseTarget(f *testing.F) {
	f.Add(rdmaString)
	f.Add(ibString)
	f.Add(rdmaString + ",src=192.0.2.10:7,io_class=ff00,initiator_ext=1,tl_retry_count=2,max_sect=1,max_cmd_per_lun=2,target_can_queue=3," +
		"queue_size=4,cmd_sg_entries=5,allow_ext_sg=6,sg_tablesize=7,comp_vector=8,ch_count=9,max_it_iu_size=100,imm_data=11,protect=bounce")
	f.Add("\n,id_ext=0x1,ioc_guid=0X2\ndest=[fe80::1%eth0]:0777,src=[::ffff:192.0.2.1],queue_size=010,,")
	f.Fuzz(func(t *testing.T, s string) {
		o, err := srp.ParseTarget(s)
		if err != nil {
			var oe *srp.OptionError
			if !errors.As(err, &oe) || oe.Want == "" || o != nil || len(err.Error()) > 1000 {
				t.Fatalf("%q: %v, %#v", s, o, err)
			}
			return
		}
		canonical := o.String()
		again, err := srp.ParseTarget(canonical)
		if err != nil {
			t.Fatalf("%q prints as %q: %v", s, canonical, err)
		}
		if got := again.String(); got != canonical {
			t.Fatalf("%q prints as %q, and that as %q", s, canonical, got)
		}
		// The defaults of these two are the same whether given or not, and are not printed.
		o.IOClass = o.Class()
		again.IOClass = again.Class()
		if *o != *again {
			t.Fatalf("%q is %+v, but %q is %+v", s, *o, canonical, *again)
		}
		var cfg srp.SessionConfig
		o.Configure(&cfg)
		if cfg.Target == (srp.PortID{}) && (o.IDExt != 0 || o.IOCGUID != 0) || cfg.QueueSize < 1 || cfg.MaxSegments < 1 {
			t.Fatalf("%q: %+v", s, cfg)
		}
	})
}

func ExampleParseTarget() {
	o, err := srp.ParseTarget(",id_ext=0x2,ioc_guid=0x2,dest=192.0.2.11:5555,queue_size=32\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Target(), o.Address(), o.QueueSize.Or(srp.DefaultQueueSize), o.Channels.Or(4))
	fmt.Println(o)

	_, err = srp.ParseTarget("id_ext=0x2,ioc_guid=0x2,dst=192.0.2.11:5555")
	fmt.Println(err)
	_, err = srp.ParseTarget("id_ext=0x2,ioc_guid=0x2,dest=192.0.2.11")
	fmt.Println(err)
	// Output:
	// 0x00000000000000020000000000000002 192.0.2.11:5555 32 4
	// id_ext=0000000000000002,ioc_guid=0000000000000002,dest=192.0.2.11:5555,queue_size=32
	// srp: login option dst=192.0.2.11:5555 is unknown: want dest; did you mean that?
	// srp: login option dest=192.0.2.11: want the target's address and port, 192.0.2.1:5555 or [2001:db8::1]:5555 or [fe80::1%eth0]:5555
}
