package fault

import (
	"strings"
	"time"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs"
)

// kind is a kind of rule.
type kind uint8

const (
	kindLate kind = iota
	kindDelay
	kindGhost
	kindLose
	kindDuplicate
	kindStatus
	kindSense
	kindResidual
	kindCredReq
	kindWithhold
	kindAER
	kindLogout
	kindDisconnect
	kindReject
	kindCMReject
	kindStale
	kindRedirect
	kindCredits
	kindIULimit
	kindMaxIU
	numKinds
)

// target is what a kind is about.
type target uint8

const (
	ofCommand  target = iota // op=tmf only where function is set
	ofChannel                // an action
	ofLogin                  // op=login goes without saying
	ofAnything               // commands, functions, logins
)

// spec is how a kind is written.
type spec struct {
	name     string
	want     string // the value, for people; "" if there is none
	of       target
	function bool // also of task management functions
	read     func(r *rule, v string) bool
	write    func(r *rule) string
}

// specs holds one for each kind.
var specs = [numKinds]spec{
	kindLate:      {"late", "a time, as in 50ms", ofCommand, false, readTime, writeTime},
	kindDelay:     {"delay", "a time, as in 50ms", ofAnything, true, readTime, writeTime},
	kindGhost:     {"ghost", "a time, as in 50ms", ofCommand, false, readTime, writeTime},
	kindLose:      {"lose", "", ofCommand, true, nil, nil},
	kindDuplicate: {"duplicate", "", ofCommand, true, nil, nil},
	kindStatus:    {"status", "busy, task-set-full, reservation-conflict, task-aborted or 0xNN", ofCommand, false, readStatus, writeStatus},
	kindSense:     {"sense", "KEY/ASC, hexadecimal, as in 3/1100", ofCommand, false, readSense, writeSense},
	kindResidual:  {"residual", "bytes", ofCommand, false, readNumber(-1<<32+1, 1<<32-1), writeNumber},

	kindCredReq:    {"cred-req", "credits to give, or below 0 to take", ofChannel, true, readCredits(-1 << 15), writeCredits},
	kindWithhold:   {"withhold", "credits", ofChannel, true, readCredits(1), writeCredits},
	kindAER:        {"aer", "ASC or ASC@LUN, as in 3f0e", ofChannel, true, readAER, writeAER},
	kindLogout:     {"logout", "a reason, 0 to 4", ofChannel, true, readLogout, writeLogout},
	kindDisconnect: {"disconnect", "", ofChannel, true, nil, nil},

	kindReject:   {"reject", "a reason of SRP_LOGIN_REJ, as in 0x00010003", ofLogin, false, readReject, writeReject},
	kindCMReject: {"cm-reject", "a reason of the connection manager, 1 to 35", ofLogin, false, readCM, writeCM},
	kindStale:    {"stale", "", ofLogin, false, nil, nil},
	kindRedirect: {"redirect", "", ofLogin, false, nil, nil},
	kindCredits:  {"credits", "credits", ofLogin, false, readNumber(1, 1<<15), writeNumber},
	kindIULimit:  {"iu-limit", "bytes, 64 or more", ofLogin, false, readNumber(64, 1<<16), writeNumber},
	kindMaxIU:    {"max-iu", "bytes", ofLogin, false, readNumber(0, 1<<16), writeNumber},
}

// actions gives the kinds of channel actions theirs.
var actions = map[kind]ActionKind{
	kindCredReq: CreditRequest, kindWithhold: Withhold, kindAER: AsyncEvent, kindLogout: Logout, kindDisconnect: Disconnect,
}

func (k kind) String() string { return specs[k].name }

func kindOf(name string) (kind, bool) {
	for k := range specs {
		if specs[k].name == name {
			return kind(k), true
		}
	}
	return 0, false
}

// complete fills in what goes without saying.
func (r *rule) complete() {
	switch r.kind {
	case kindStale:
		r.cm = verbs.RejectStale
	case kindRedirect:
		r.cm = verbs.RejectPortRedirect
	}
	if specs[r.kind].of == ofLogin {
		r.op = opLogin
	}
	if a, ok := actions[r.kind]; ok {
		r.action.Kind = a
	}
}

func readTime(r *rule, v string) bool {
	d, err := time.ParseDuration(v)
	r.time = d
	return err == nil && d > 0 && d <= maxTime
}

// maxTime bounds times.
const maxTime = 24 * time.Hour

func writeTime(r *rule) string { return r.time.String() }

func readNumber(low, high int64) func(r *rule, v string) bool {
	return func(r *rule, v string) bool {
		n, ok := number(v)
		r.number = n
		return ok && n >= low && n <= high
	}
}

func writeNumber(r *rule) string { return decimal(r.number) }

// statusNames are statuses that can be written as words.
var statusNames = []struct {
	name   string
	status scsi.Status
}{
	{"busy", scsi.StatusBusy}, {"task-set-full", scsi.StatusTaskSetFull},
	{"reservation-conflict", scsi.StatusReservationConflict}, {"task-aborted", scsi.StatusTaskAborted},
}

func readStatus(r *rule, v string) bool {
	for _, s := range statusNames {
		if s.name == v {
			r.status = s.status
			return true
		}
	}
	n, ok := hexadecimal(v, 8)
	r.status = scsi.Status(n)
	return ok && strings.HasPrefix(v, "0x") && n != 0
}

func writeStatus(r *rule) string {
	for _, s := range statusNames {
		if s.status == r.status {
			return s.name
		}
	}
	return hex(uint64(r.status), 2)
}

func readSense(r *rule, v string) bool {
	key, code, ok := strings.Cut(v, "/")
	k, kok := hexadecimal(key, 4)
	c, cok := hexadecimal(code, 16)
	r.key, r.asc = scsi.SenseKey(k), scsi.ASC(c)
	return ok && kok && cok
}

func writeSense(r *rule) string {
	return hex(uint64(r.key), 1)[2:] + "/" + hex(uint64(r.asc), 4)[2:]
}

func readCredits(low int64) func(r *rule, v string) bool {
	return func(r *rule, v string) bool {
		n, ok := number(v)
		r.action.Credits = int32(n)
		return ok && n >= low && n <= 1<<15 && n != 0
	}
}

func writeCredits(r *rule) string { return decimal(int64(r.action.Credits)) }

func readAER(r *rule, v string) bool {
	code, at, has := strings.Cut(v, "@")
	c, ok := hexadecimal(code, 16)
	r.action.ASC = scsi.ASC(c)
	if has {
		n, nok := number(at)
		r.action.LUN = lunOf(n)
		ok = ok && nok && n >= 0 && n <= maxLUN
	}
	return ok && len(strings.TrimPrefix(code, "0x")) == 4
}

func writeAER(r *rule) string {
	s := hex(uint64(r.action.ASC), 4)[2:]
	if n, _ := r.action.LUN.Unit(); n != 0 {
		s += "@" + decimal(int64(n))
	}
	return s
}

func readLogout(r *rule, v string) bool {
	n, ok := number(v)
	r.action.Reason = srp.LogoutReason(n)
	return ok && n >= 0 && n <= int64(srp.LogoutMultiChannel)
}

func writeLogout(r *rule) string { return decimal(int64(r.action.Reason)) }

func readReject(r *rule, v string) bool {
	n, ok := hexadecimal(v, 32)
	r.reason = srp.RejectReason(n)
	return ok && n != 0
}

func writeReject(r *rule) string { return hex(uint64(r.reason), 8) }

func readCM(r *rule, v string) bool {
	n, ok := number(v)
	r.cm = verbs.RejectReason(n)
	return ok && n >= 1 && n <= 35 && r.cm != verbs.RejectConsumer
}

func writeCM(r *rule) string { return decimal(int64(r.cm)) }
