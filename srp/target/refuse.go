package target

import (
	"context"
	"strings"
	"time"

	"minisrp/srp"
	"minisrp/srp/target/access"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// refusals is logins that were refused, on their way to the log: what waits may not log.
//
// Ownership: the port's processor, but log.
type refusals struct {
	port *Port
	work dispatch.Work

	last    refusal
	at      time.Duration // when it was noted
	repeats int           // of last since then
	noted   []refusal     // capacity maxRefusals
	lost    int           // found no room in noted
}

// refusal is a login that was refused.
type refusal struct {
	id      srp.PortID
	peer    verbs.Address
	reason  srp.RejectReason
	cm      verbs.RejectReason // in place of reason
	unknown bool               // no group names it
}

const (
	// maxRefusals bounds what waits to be logged.
	maxRefusals = 16
	// refusalPeriod is how often the same refusal is logged: initiators try again and again.
	refusalPeriod = time.Minute
)

func (r *refusals) init(p *Port) {
	r.port = p
	r.noted = make([]refusal, 0, maxRefusals)
	r.work.Init(r.log)
}

// note leaves a refusal for the log.
func (r *refusals) note(f *dispatch.Frame, x refusal) {
	now := f.Now()
	same := x
	same.peer = r.last.peer // its port number is another each time
	switch {
	case same == r.last && now-r.at < refusalPeriod:
		r.repeats++
		return
	case len(r.noted) == cap(r.noted):
		r.lost++
		return
	}
	r.last, r.at = x, now
	r.noted = append(r.noted, x)
	r.port.worker.Queue(&r.work)
}

// peerText names where an initiator is.
func peerText(a verbs.Address) string {
	if a.IsRDMA() {
		return a.Src.String()
	}
	return a.DGID.String()
}

// log runs on the port's worker.
func (r *refusals) log(ctx context.Context) {
	var all []refusal
	var repeats, lost int
	// On the way to the end there is nobody to be told.
	if r.port.proc.Call(ctx, func(*dispatch.Frame) {
		all = append(all, r.noted...)
		repeats, lost = r.repeats, r.lost
		r.noted, r.repeats, r.lost = r.noted[:0], 0, 0
	}) != nil {
		return
	}
	for i, x := range all {
		args := []any{"target", r.port.cfg.ID, "initiator", x.id, "peer", peerText(x.peer)}
		if x.cm != 0 {
			args = append(args, "cm", x.cm.String())
		} else {
			args = append(args, "reason", x.reason.String())
		}
		if x.unknown {
			args = append(args, "allow with", strings.Join(access.Spellings(x.id, x.peer), " or "))
		}
		if i == 0 && repeats+lost > 0 {
			args = append(args, "others since the last", repeats+lost)
		}
		r.port.cfg.Log.Warn("login refused", args...)
	}
}
