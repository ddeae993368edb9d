package fault

import (
	"sync/atomic"
	"time"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/srp/target/access"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// rule is one fault with its conditions.
type rule struct {
	// Fixed after parsing.
	kind   kind
	time   time.Duration      // late, delay, ghost
	number int64              // credits, bytes
	status scsi.Status        // status
	key    scsi.SenseKey      // sense
	asc    scsi.ASC           // sense
	action Action             // kinds that do something to the channel
	reason srp.RejectReason   // reject
	cm     verbs.RejectReason // cm-reject, stale, redirect

	op       op
	code     uint8 // opCode
	lun      scsi.LUN
	hasLUN   bool
	from     access.Match
	hasFrom  bool
	p        float64 // the probability; 0: always
	chance   uint64  // p of 2^53
	skip     uint64
	every    uint64 // 0: each
	times    uint64 // 0: any number
	stubborn bool
	leak     bool

	// Processor.
	random uint64 // the generator's state
	seen   uint64 // requests that the other conditions hold for

	hits atomic.Uint64 // a stale read shows what it was a moment before
}

// op says what requests a rule is for.
type op uint8

const (
	opAny op = iota // commands
	opRead
	opWrite
	opFlush
	opUnmap
	opCode
	opFunction
	opAbort
	opReset
	opLogin
)

// Rules is a layer that has a text form. See the package's description.
//
// Ownership: that of one port's processor.
type Rules struct {
	rules []*rule
	seeds []seedAt
}

// seedAt is a seed that holds from a rule on.
type seedAt struct {
	rule int
	seed uint64
}

// Hits returns how often each rule has done its fault, in their order.
func (rs *Rules) Hits() []uint64 {
	n := make([]uint64, len(rs.rules))
	for i, r := range rs.rules {
		n[i] = r.hits.Load()
	}
	return n
}

// Struck calls yield with each rule and how often it has done its fault, in their order, until it returns false.
func (rs *Rules) Struck(yield func(rule string, hits uint64) bool) {
	for _, r := range rs.rules {
		if !yield(r.String(), r.hits.Load()) {
			return
		}
	}
}

// Login implements Layer.
func (rs *Rules) Login(f *dispatch.Frame, l *Login, x *LoginEffect) {
	for _, r := range rs.rules {
		if r.op != opLogin || r.hasFrom && !r.from.Matches(l.Initiator, l.Peer) || !r.due() {
			continue
		}
		switch r.kind {
		case kindDelay:
			x.Delay += r.time
		case kindReject:
			x.Reject = r.reason
		case kindCMReject, kindStale, kindRedirect:
			x.CM = r.cm
		case kindCredits:
			x.Credits = int(r.number)
		case kindIULimit:
			x.IULimit = int(r.number)
		case kindMaxIU:
			x.MaxIU = int(r.number)
		}
	}
}

// Request implements Layer.
func (rs *Rules) Request(f *dispatch.Frame, q *Request, x *Effect) {
	for _, r := range rs.rules {
		if r.wants(q) && r.due() {
			r.apply(x)
		}
	}
}

// wants reports whether the request is such as the rule is for.
func (r *rule) wants(q *Request) bool {
	if r.hasFrom && !r.from.Matches(q.Initiator, q.Peer) {
		return false
	}
	if m := q.Function; m != nil {
		return (!r.hasLUN || r.lun == scsi.LUNFromBytes(m.LUN)) &&
			(r.op == opFunction || r.op == opAbort && m.Function == srp.AbortTask || r.op == opReset && m.Function == srp.LogicalUnitReset)
	}
	c := q.Command
	if r.hasLUN && r.lun != scsi.LUNFromBytes(c.LUN) || len(c.CDB) == 0 {
		return false
	}
	code := scsi.Opcode(c.CDB[0])
	switch r.op {
	case opAny:
		return true
	case opCode:
		return uint8(code) == r.code
	case opRead:
		return code == scsi.OpRead6 || code == scsi.OpRead10 || code == scsi.OpRead12 || code == scsi.OpRead16
	case opWrite:
		return code == scsi.OpWrite6 || code == scsi.OpWrite10 || code == scsi.OpWrite12 || code == scsi.OpWrite16
	case opFlush:
		return code == scsi.OpSynchronizeCache || code == scsi.OpSyncCache16
	case opUnmap:
		return code == scsi.OpUnmap
	}
	return false
}

// due counts a request and reports whether the rule is to act.
func (r *rule) due() bool {
	if r.chance != 0 && r.draw()>>11 >= r.chance {
		return false
	}
	if r.seen++; r.seen <= r.skip {
		return false
	}
	if r.every > 1 && (r.seen-r.skip)%r.every != 0 {
		return false
	}
	if r.times != 0 && r.hits.Load() >= r.times {
		return false
	}
	r.hits.Add(1)
	return true
}

// draw is the next number of the generator (splitmix64).
func (r *rule) draw() uint64 {
	r.random += 0x9e3779b97f4a7c15
	z := r.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// apply adds the fault to an effect.
func (r *rule) apply(x *Effect) {
	x.Stubborn = x.Stubborn || r.stubborn
	switch r.kind {
	case kindLate:
		x.Late += r.time
	case kindDelay:
		x.Delay += r.time
	case kindGhost:
		x.Ghost += r.time
	case kindLose:
		x.Lose, x.Leak = true, x.Leak || r.leak
	case kindDuplicate:
		x.Duplicate = true
	case kindStatus:
		x.Status = r.status
	case kindSense:
		x.Status, x.Key, x.ASC = scsi.StatusCheckCondition, r.key, r.asc
	case kindResidual:
		x.Residual, x.HasResidual = r.number, true
	default:
		x.Do(r.action)
	}
}
