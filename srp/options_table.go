package srp

import (
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// optionCM says for which connection manager an option gives the address.
type optionCM uint8

const (
	forIB optionCM = iota
	forRDMA
	forBoth
)

// targetOption is an option of the login string.
type targetOption struct {
	name      string
	want      string // what a value has to be, in words
	cm        optionCM
	mandatory bool // with its cm
	parse     func(o *TargetOptions, v string) bool
	print     func(o *TargetOptions) string // canonically; "" when it was not given
}

// optionTable is in the order in which String prints: that of ibsrpdm -c, then numbers, then what is our own.
// max_it_iu_size comes after everything else that ib_srp knows, as srp_daemon has it, since old kernels stop reading
// there.
var optionTable = []targetOption{
	hexOption("id_ext", forBoth, true, 16, "the target port's identifier extension", func(o *TargetOptions) *uint64 { return &o.IDExt }),
	hexOption("ioc_guid", forBoth, true, 16, "the target's I/O controller GUID", func(o *TargetOptions) *uint64 { return &o.IOCGUID }),
	{"dgid", "the target port's GID: exactly 32 hexadecimal digits, without colons", forIB, true, (*TargetOptions).parseDGID, (*TargetOptions).dgidText},
	hexOption("pkey", forIB, true, 4, "a P_Key", func(o *TargetOptions) *uint16 { return &o.PKey }),
	hexOption("service_id", forIB, true, 16, "the target's service", func(o *TargetOptions) *uint64 { return &o.ServiceID }),
	{"dest", "the target's address and port, 192.0.2.1:5555 or [2001:db8::1]:5555 or [fe80::1%eth0]:5555", forRDMA, true, (*TargetOptions).parseDest, (*TargetOptions).destText},
	{"src", "an address of this host, with a port if that matters: 192.0.2.1 or 192.0.2.1:5000 or [2001:db8::1] or [2001:db8::1]:5000", forRDMA, false, (*TargetOptions).parseSrc, (*TargetOptions).srcText},
	{"io_class", "0100 (SRP r16a) or ff00 (SRP r10)", forBoth, false, (*TargetOptions).parseIOClass, (*TargetOptions).ioClassText},
	hexOption("initiator_ext", forBoth, false, 16, "the initiator port's identifier extension", func(o *TargetOptions) *uint64 { return &o.InitiatorExt }),
	number("tl_retry_count", 2, 7, "transport retries", func(o *TargetOptions) *Setting[int] { return &o.RetryCount }),
	number("max_sect", 1, math.MaxInt32, "512-byte sectors", func(o *TargetOptions) *Setting[int] { return &o.MaxSectors }),
	number("max_cmd_per_lun", 1, math.MaxInt32, "commands", func(o *TargetOptions) *Setting[int] { return &o.CommandsPerLUN }),
	number("target_can_queue", 1, math.MaxInt32, "commands", func(o *TargetOptions) *Setting[int] { return &o.TargetCanQueue }),
	number("queue_size", 1, MaxQueueSize, "commands", func(o *TargetOptions) *Setting[int] { return &o.QueueSize }),
	number("cmd_sg_entries", 1, MaxInlineDescs, "descriptors", func(o *TargetOptions) *Setting[int] { return &o.CommandEntries }),
	{"allow_ext_sg", "1 to allow descriptors outside the IU, 0 not to", forBoth, false, (*TargetOptions).parseAllowExtSG, (*TargetOptions).allowExtSGText},
	number("sg_tablesize", 1, MaxSegmentsLimit, "pieces of memory", func(o *TargetOptions) *Setting[int] { return &o.TableSize }),
	number("comp_vector", 0, math.MaxInt32, "a completion vector's number", func(o *TargetOptions) *Setting[int] { return &o.CompVector }),
	number("ch_count", 1, MaxChannels, "channels", func(o *TargetOptions) *Setting[int] { return &o.Channels }),
	{"max_it_iu_size", fmt.Sprintf("bytes: %d or more, or 0 for no cap", minIULen), forBoth, false, (*TargetOptions).parseMaxIUSize,
		func(o *TargetOptions) string { return numberText(&o.MaxIUSize) }},
	number("imm_data", 0, MaxImmediateData, "bytes, 0 to ask for none", func(o *TargetOptions) *Setting[int] { return &o.ImmediateData }),
	{"protect", "io, bounce or region", forBoth, false, (*TargetOptions).parseProtect, (*TargetOptions).protectText},
}

// String returns the login string in its canonical form, which ParseTarget reads back as the same options.
func (o *TargetOptions) String() string {
	var b strings.Builder
	for i := range optionTable {
		opt := &optionTable[i]
		if opt.cm == forIB && o.Dest.IsValid() {
			continue
		}
		if v := opt.print(o); v != "" {
			if b.Len() > 0 {
				b.WriteByte(',')
			}
			b.WriteString(opt.name)
			b.WriteByte('=')
			b.WriteString(v)
		}
	}
	return b.String()
}

// hexOption is an option whose value is hexadecimal, of the given number of digits when printed. One that need not be
// there is printed unless it is 0.
func hexOption[T uint16 | uint64](name string, cm optionCM, mandatory bool, digits int, what string, field func(*TargetOptions) *T) targetOption {
	return targetOption{
		name: name, cm: cm, mandatory: mandatory,
		want: fmt.Sprintf("%s: up to %d hexadecimal digits", what, digits),
		parse: func(o *TargetOptions, v string) bool {
			n, ok := parseHex(v, digits)
			*field(o) = T(n)
			return ok
		},
		print: func(o *TargetOptions) string {
			if *field(o) == 0 && !mandatory {
				return ""
			}
			return fmt.Sprintf("%0*x", digits, *field(o))
		},
	}
}

// number is an option whose value is an integer between least and most.
func number(name string, least, most int, unit string, field func(*TargetOptions) *Setting[int]) targetOption {
	return targetOption{
		name: name, cm: forBoth,
		want: fmt.Sprintf("%d to %d (%s)", least, most, unit),
		parse: func(o *TargetOptions, v string) bool {
			n, ok := parseInt(v)
			*field(o) = Given(n)
			return ok && least <= n && n <= most
		},
		print: func(o *TargetOptions) string { return numberText(field(o)) },
	}
}

func numberText(s *Setting[int]) string {
	if !s.Given {
		return ""
	}
	return strconv.Itoa(s.Value)
}

// parseHex reads up to so many hexadecimal digits, with or without 0x.
func parseHex(v string, digits int) (uint64, bool) {
	if len(v) > 2 && (v[:2] == "0x" || v[:2] == "0X") {
		v = v[2:]
	}
	n, err := strconv.ParseUint(v, 16, 64)
	return n, err == nil && len(v) <= digits
}

// parseInt reads an integer of 32 bits, decimal, behind 0x hexadecimal, behind 0 octal.
func parseInt(v string) (int, bool) {
	digits, minus := strings.CutPrefix(v, "-")
	base := 10
	switch {
	case len(digits) > 2 && (digits[:2] == "0x" || digits[:2] == "0X"):
		digits, base = digits[2:], 16
	case len(digits) > 1 && digits[0] == '0':
		digits, base = digits[1:], 8
	}
	n, err := strconv.ParseUint(digits, base, 31)
	if minus {
		return -int(n), err == nil
	}
	return int(n), err == nil
}

func (o *TargetOptions) parseDGID(v string) bool {
	if len(v) != 2*len(o.DGID) {
		return false
	}
	_, err := hex.Decode(o.DGID[:], []byte(v))
	return err == nil
}

func (o *TargetOptions) dgidText() string { return hex.EncodeToString(o.DGID[:]) }

func (o *TargetOptions) parseDest(v string) (ok bool) {
	o.Dest, ok = parseAddrPort(v)
	return ok && o.Dest.Port() != 0
}

func (o *TargetOptions) destText() string {
	if !o.Dest.IsValid() {
		return ""
	}
	return o.Dest.String()
}

func (o *TargetOptions) parseSrc(v string) (ok bool) {
	o.Src, ok = parseAddrPort(v)
	return ok
}

func (o *TargetOptions) srcText() string {
	switch {
	case !o.Src.IsValid():
		return ""
	case o.Src.Port() != 0:
		return o.Src.String()
	case o.Src.Addr().Is4():
		return o.Src.Addr().String()
	}
	return "[" + o.Src.Addr().String() + "]"
}

// parseAddrPort reads an IPv4 address, or an IPv6 address in brackets, with a port or, as port 0, without.
func parseAddrPort(v string) (netip.AddrPort, bool) {
	host, port := v, ""
	if i := strings.LastIndexByte(v, ':'); i >= 0 && !strings.Contains(v[i:], "]") {
		host, port = v[:i], v[i+1:]
		if port == "" {
			return netip.AddrPort{}, false
		}
	}
	var n uint64
	if port != "" {
		var err error
		if n, err = strconv.ParseUint(port, 10, 16); err != nil {
			return netip.AddrPort{}, false
		}
	}
	inner, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		if inner, bracketed = strings.CutSuffix(inner, "]"); !bracketed {
			return netip.AddrPort{}, false
		}
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil || addr.Is4() == bracketed || !validZone(addr.Zone()) {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr, uint16(n)), true
}

// validZone reports whether z is empty or can be a network interface's number or name (15 bytes at most, without
// spaces, / and :).
func validZone(z string) bool {
	for _, c := range []byte(z) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("/:[]%", c) >= 0 {
			return false
		}
	}
	return len(z) <= 15
}

func (o *TargetOptions) parseIOClass(v string) bool {
	n, ok := parseHex(v, 4)
	o.IOClass = IOClass(n)
	return ok && (o.IOClass == IOClassR16a || o.IOClass == IOClassR10)
}

func (o *TargetOptions) ioClassText() string {
	if o.Class() == IOClassR16a {
		return ""
	}
	return fmt.Sprintf("%04x", uint16(o.IOClass))
}

func (o *TargetOptions) parseAllowExtSG(v string) bool {
	n, ok := parseInt(v)
	o.AllowExtSG = Given(n != 0)
	return ok
}

func (o *TargetOptions) allowExtSGText() string {
	switch {
	case !o.AllowExtSG.Given:
		return ""
	case o.AllowExtSG.Value:
		return "1"
	}
	return "0"
}

func (o *TargetOptions) parseMaxIUSize(v string) bool {
	n, ok := parseInt(v)
	o.MaxIUSize = Given(n)
	return ok && (n == 0 || n >= minIULen)
}

// protectWords are the option's words for each Protect.
var protectWords = [...]string{ProtectIO: "io", ProtectBounce: "bounce", ProtectRegion: "region"}

func (o *TargetOptions) parseProtect(v string) bool {
	for p, word := range protectWords {
		if v == word {
			o.Protect = Given(Protect(p))
			return true
		}
	}
	return false
}

func (o *TargetOptions) protectText() string {
	if !o.Protect.Given || int(o.Protect.Value) >= len(protectWords) {
		return ""
	}
	return protectWords[o.Protect.Value]
}
