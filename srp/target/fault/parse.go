package fault

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"minisrp/scsi"
	"minisrp/srp/target/access"
)

// ErrSyntax says that a text is no rules. The caller corrects it.
var ErrSyntax = errors.New("not a fault")

// SyntaxError says what is wrong with a rule.
type SyntaxError struct {
	Rule string // as it stands
	Word string // that is wrong
	Want string // what would be right
}

func (e *SyntaxError) Error() string {
	s := fmt.Sprintf("%q is %v: ", e.Rule, ErrSyntax)
	if e.Word != e.Rule {
		s += fmt.Sprintf("%q: ", e.Word)
	}
	return s + "want " + e.Want
}

// Is reports whether target is ErrSyntax.
func (e *SyntaxError) Is(target error) bool { return target == ErrSyntax }

// Parse reads rules, separated by semicolons or line ends, in the order in which they act. No rules are none that
// fail. Errors: *SyntaxError.
func Parse(text string) (*Rules, error) {
	rs := &Rules{}
	seed := uint64(1)
	for _, s := range strings.FieldsFunc(text, func(c rune) bool { return c == ';' || c == '\n' }) {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if v, ok := strings.CutPrefix(s, "seed="); ok {
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				return nil, &SyntaxError{s, s, "seed=N with N of 0 or more"}
			}
			seed = n
			rs.seeds = append(rs.seeds, seedAt{len(rs.rules), n})
			continue
		}
		r, err := parseRule(s)
		if err != nil {
			return nil, err
		}
		r.random = seed ^ uint64(len(rs.rules)+1)*0xd1342543de82ef95
		rs.rules = append(rs.rules, r)
	}
	return rs, nil
}

// ParseAction reads what can be done to a channel at once: a rule of such a kind without conditions.
// Errors: *SyntaxError.
func ParseAction(text string) (Action, error) {
	r, err := parseRule(strings.TrimSpace(text))
	if err != nil {
		return Action{}, err
	}
	if specs[r.kind].of != ofChannel || strings.Contains(text, ",") {
		return Action{}, &SyntaxError{text, text, "one of " + kindsOf(ofChannel) + ", without conditions"}
	}
	return r.action, nil
}

// kindsOf lists the kinds that are about something.
func kindsOf(of target) string {
	var names []string
	for k := range specs {
		if specs[k].of == of {
			names = append(names, specs[k].name)
		}
	}
	return strings.Join(names, ", ")
}

func parseRule(s string) (*rule, error) {
	words := strings.Split(s, ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	name, value, has := strings.Cut(words[0], "=")
	k, ok := kindOf(name)
	if !ok {
		return nil, &SyntaxError{s, words[0], "one of " + strings.Join([]string{
			kindsOf(ofAnything), kindsOf(ofCommand), kindsOf(ofChannel), kindsOf(ofLogin)}, ", ")}
	}
	r := &rule{kind: k}
	sp := &specs[k]
	switch {
	case sp.read == nil && has:
		return nil, &SyntaxError{s, words[0], name + " without a value"}
	case sp.read != nil && (!has || !sp.read(r, value)):
		return nil, &SyntaxError{s, words[0], name + "=VALUE with " + sp.want}
	}
	seen := map[string]bool{}
	for _, w := range words[1:] {
		name, value, has := strings.Cut(w, "=")
		c, ok := conditions[name]
		switch {
		case !ok:
			return nil, &SyntaxError{s, w, "op=, lun=, from=, p=, skip=, every=, times=, stubborn or leak"}
		case seen[name]:
			return nil, &SyntaxError{s, w, name + " once"}
		case has != (c.want != name) || !c.read(r, value):
			return nil, &SyntaxError{s, w, c.want}
		}
		seen[name] = true
	}
	r.complete()
	if want := r.mismatch(seen); want != "" {
		return nil, &SyntaxError{s, s, want}
	}
	return r, nil
}

// mismatch says what the kind wants of its conditions, if it does not get it.
func (r *rule) mismatch(seen map[string]bool) string {
	sp := &specs[r.kind]
	function := r.op == opFunction || r.op == opAbort || r.op == opReset
	switch {
	case sp.of == ofLogin && (seen["op"] || seen["lun"]):
		return sp.name + " without op and lun: it is about logins"
	case r.op == opLogin && sp.of != ofLogin && sp.of != ofAnything:
		return sp.name + " with another op: it is not about logins"
	case r.op == opLogin && seen["lun"]:
		return "no lun with op=login"
	case function && !sp.function:
		return sp.name + " with another op: it is not about task management functions"
	case r.stubborn && r.kind != kindLate && (r.kind != kindDelay || r.op == opLogin || function):
		return "stubborn with late, or with delay of commands"
	case r.leak && r.kind != kindLose:
		return "leak with lose"
	}
	return ""
}

// condition is how one is written.
type condition struct {
	want  string // the name alone if there is no value
	read  func(r *rule, v string) bool
	write func(r *rule) string // "" if it does not stand there
}

var conditions = map[string]condition{
	"op": {"op= any, read, write, flush, unmap, 0xNN, tmf, abort, reset or login", readOp, writeOp},
	"lun": {"lun=N, 0 to 16383", func(r *rule, v string) bool {
		n, ok := number(v)
		r.lun, r.hasLUN = lunOf(n), true
		return ok && n >= 0 && n <= maxLUN
	}, func(r *rule) string {
		n, _ := r.lun.Unit()
		return when(r.hasLUN, "lun="+decimal(int64(n)))
	}},
	"from": {"from=WHO: a port identifier, GUID, IP address or prefix, or *", func(r *rule, v string) bool {
		m, err := access.Parse(v)
		r.from, r.hasFrom = m, true
		return err == nil
	}, func(r *rule) string { return when(r.hasFrom, "from="+r.from.String()) }},
	"p": {"p=X, above 0 and at most 1", func(r *rule, v string) bool {
		x, err := strconv.ParseFloat(v, 64)
		r.p, r.chance = x, uint64(math.Ldexp(x, chanceBits))
		return err == nil && x > 0 && x <= 1 && r.chance > 0
	}, func(r *rule) string {
		return when(r.chance != 0, "p="+strconv.FormatFloat(r.p, 'g', -1, 64))
	}},
	"skip":     count("skip", func(r *rule) *uint64 { return &r.skip }),
	"every":    count("every", func(r *rule) *uint64 { return &r.every }),
	"times":    count("times", func(r *rule) *uint64 { return &r.times }),
	"stubborn": flag("stubborn", func(r *rule) *bool { return &r.stubborn }),
	"leak":     flag("leak", func(r *rule) *bool { return &r.leak }),
}

// conditionOrder is the order in which they are written.
var conditionOrder = []string{"op", "lun", "from", "p", "skip", "every", "times", "stubborn", "leak"}

// chanceBits is the precision of probabilities.
const chanceBits = 53

func when(is bool, s string) string {
	if is {
		return s
	}
	return ""
}

func count(name string, field func(r *rule) *uint64) condition {
	return condition{name + "=N, 1 or more", func(r *rule, v string) bool {
		n, ok := number(v)
		*field(r) = uint64(n)
		return ok && n > 0
	}, func(r *rule) string { return when(*field(r) != 0, name+"="+decimal(int64(*field(r)))) }}
}

func flag(name string, field func(r *rule) *bool) condition {
	return condition{name, func(r *rule, _ string) bool {
		*field(r) = true
		return true
	}, func(r *rule) string { return when(*field(r), name) }}
}

// opNames are the values of op that are words.
var opNames = map[string]op{
	"any": opAny, "read": opRead, "write": opWrite, "flush": opFlush, "unmap": opUnmap,
	"tmf": opFunction, "abort": opAbort, "reset": opReset, "login": opLogin,
}

func readOp(r *rule, v string) bool {
	if o, ok := opNames[v]; ok {
		r.op = o
		return true
	}
	n, ok := hexadecimal(v, 8)
	r.op, r.code = opCode, uint8(n)
	return ok && strings.HasPrefix(v, "0x")
}

func writeOp(r *rule) string {
	switch {
	case r.op == opAny || specs[r.kind].of == ofLogin:
		return ""
	case r.op == opCode:
		return "op=" + hex(uint64(r.code), 2)
	}
	for name, o := range opNames {
		if o == r.op {
			return "op=" + name
		}
	}
	return ""
}

// String returns what Parse reads.
func (rs *Rules) String() string {
	var all []string
	seeds := rs.seeds
	for i, r := range rs.rules {
		for ; len(seeds) > 0 && seeds[0].rule <= i; seeds = seeds[1:] {
			all = append(all, "seed="+strconv.FormatUint(seeds[0].seed, 10))
		}
		all = append(all, r.String())
	}
	for _, s := range seeds {
		all = append(all, "seed="+strconv.FormatUint(s.seed, 10))
	}
	return strings.Join(all, "; ")
}

func (r *rule) String() string {
	sp := &specs[r.kind]
	s := sp.name
	if sp.write != nil {
		s += "=" + sp.write(r)
	}
	for _, name := range conditionOrder {
		if w := conditions[name].write(r); w != "" {
			s += "," + w
		}
	}
	return s
}

// maxLUN is the highest number that a LUN has in flat space addressing.
const maxLUN = 0x3fff

// lunOf returns the LUN of a number, as initiators write it: peripheral up to 255, flat space above.
func lunOf(n int64) scsi.LUN {
	if n < 256 {
		return scsi.PeripheralLUN(uint8(n))
	}
	return scsi.FlatLUN(uint16(n))
}

func number(v string) (int64, bool) {
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// hexadecimal reads a number with or without 0x.
func hexadecimal(v string, bits int) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(v, "0x"), 16, bits)
	return n, err == nil
}

func hex(n uint64, digits int) string { return fmt.Sprintf("0x%0*x", digits, n) }
