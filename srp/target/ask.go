package target

import (
	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// asking is what the target asks of an initiator of its own accord: SRP_CRED_REQ and SRP_AER_REQ. One is under way at a
// time, since initiators may have room for one answer only. The target asks nothing unless it is told to (Port.Do,
// faults): there are initiators that know no such requests.
type asking struct {
	credits int32 // that SRP_CRED_REQ is to give, or to take if below 0
	events  [maxEvents]struct {
		lun  scsi.LUN
		code scsi.ASC
	}
	numEvents int

	op       srp.Opcode // of the answer that is waited for; 0: none is
	sending  bool       // the SEND has not completed
	tag      uint64
	cred     srp.CredReq
	aer      srp.AERReq
	senseBuf [scsi.FixedSenseSize]byte
}

// maxEvents bounds the events that wait. More are forgotten: initiators look at everything after one.
const maxEvents = 4

// act does something to the channel of the target's own accord.
func (c *channel) act(f *dispatch.Frame, a *fault.Action) {
	if c.state != chanUp {
		return
	}
	switch a.Kind {
	case fault.CreditRequest:
		n := c.changeLimit(a.Credits)
		c.asking.credits += n
		c.ask(f)
	case fault.Withhold:
		c.withheld -= c.changeLimit(-a.Credits)
	case fault.AsyncEvent:
		if q := &c.asking; q.numEvents < maxEvents {
			q.events[q.numEvents].lun, q.events[q.numEvents].code = a.LUN, a.ASC
			q.numEvents++
		}
		c.ask(f)
	case fault.Logout:
		if c.cause == causeNone {
			c.cause = causeTLogout
		}
		c.tell(f, a.Reason)
	case fault.Disconnect:
		c.cause = causeFault
		c.abort(f)
		c.hangUp(f)
	}
}

// changeLimit changes the request limit by n, as far as the channel has room and one request can be sent, and returns
// by how much.
func (c *channel) changeLimit(n int32) int32 {
	to := min(max(int64(c.limit)+int64(n), min(int64(c.limit), 1)), int64(c.port.cfg.Credits))
	n = int32(to) - c.limit
	c.limit = int32(to)
	return n
}

// ask sends the next request, if none is under way.
func (c *channel) ask(f *dispatch.Frame) {
	q := &c.asking
	if q.op != 0 || q.sending || c.state != chanUp {
		return
	}
	b, addr := c.res.ask()
	var n int
	var err error
	switch {
	case q.credits != 0:
		q.tag++
		q.op, q.cred = srp.OpCredRsp, srp.CredReq{RequestLimitDelta: q.credits, Tag: q.tag}
		q.credits = 0
		n, err = q.cred.Encode(b)
	case q.numEvents > 0:
		q.tag++
		e := q.events[0]
		copy(q.events[:], q.events[1:])
		q.numEvents--
		s := scsi.MakeSense(scsi.KeyUnitAttention, e.code)
		q.op, q.aer = srp.OpAERRsp, srp.AERReq{Tag: q.tag, LUN: e.lun.Bytes(), Sense: q.senseBuf[:s.Put(q.senseBuf[:])]}
		n, err = q.aer.Encode(b)
	default:
		return
	}
	if err != nil {
		panic("target: a request does not fit its buffer: " + err.Error())
	}
	c.flush(f) // what was answered before it goes before it
	if c.state != chanUp {
		return
	}
	c.sends = dispatch.Append(c.sends[:0], verbs.WR{ID: wrAsk, Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1})
	c.sends[0].SGE[0] = verbs.SGE{Addr: addr, Length: uint32(n), LKey: c.res.mr.LKey()}
	_, err = c.res.qp.Post(f, c.sends)
	c.sends = c.sends[:0]
	if err != nil {
		c.fail(f, causeTransport)
		return
	}
	q.sending = true
	c.stats.asked++
}

// asked is told that a request has been taken.
func (c *channel) asked(f *dispatch.Frame) {
	c.asking.sending = false
	c.ask(f)
}

// answered takes SRP_CRED_RSP or SRP_AER_RSP. What answers nothing is ignored, as other targets do.
func (c *channel) answered(f *dispatch.Frame, op srp.Opcode, tag uint64) {
	q := &c.asking
	if q.op != op || q.tag != tag {
		c.stats.unasked++
		return
	}
	q.op = 0
	c.ask(f)
}
