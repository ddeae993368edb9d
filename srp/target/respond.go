package target

import (
	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// respond sends the data that goes to the initiator, and the response.
func (k *command) respond(f *dispatch.Frame) {
	c, t := k.c, &k.task
	if c.state > chanLeaving {
		k.finish(f)
		return
	}
	if !k.refused && t.Quiet {
		// The initiator has aborted it and waits for no answer; its credit goes with the next one.
		c.owed++
		c.stats.quiet++
		k.finish(f)
		return
	}
	if k.faulty && k.spoilResponse(f) {
		return
	}
	k.state = cmdSending
	k.move = move{op: verbs.Write}
	if !k.refused && t.Status == scsi.StatusGood {
		k.move.total = t.In
		c.stats.bytesIn += uint64(t.In)
		c.stats.bytesOut += uint64(t.Out)
	}
	k.begun(f)
}

// encode makes the response, with the credit that goes with it. It returns its length.
func (k *command) encode() int {
	c, t := k.c, &k.task
	// The receive comes back before the credit that it is for.
	k.hasRecv = false
	c.repost(k.recv)
	r := &c.rsp
	*r = srp.Response{Tag: k.tag, RequestLimitDelta: c.credit()}
	switch {
	case k.function:
		r.SetResponseCode(codeOf(k.fn.Response))
	case k.refused:
		r.Status, r.Sense = uint8(k.status), k.sense[:k.senseLen]
	default:
		r.Status, r.Sense = uint8(t.Status), t.Sense()
		r.DataInResidual, r.Flags = residual(r.Flags, t.InResidual, srp.DataInUnder, srp.DataInOver)
		r.DataOutResidual, r.Flags = residual(r.Flags, t.OutResidual, srp.DataOutUnder, srp.DataOutOver)
	}
	if k.faulty && k.x.HasResidual {
		k.tellResidual(r)
	}
	b, _ := c.res.response(k.index)
	n, err := r.Encode(b)
	if err != nil {
		panic("target: a response does not fit its buffer: " + err.Error())
	}
	return n
}

// credit returns the REQUEST LIMIT DELTA of a response: one for the request itself and those of requests that were not
// answered, without what is withheld.
func (c *channel) credit() int32 {
	n := 1 + c.owed
	c.owed = 0
	kept := min(n, c.withheld)
	c.withheld -= kept
	return n - kept
}

// sendResponse sends SRP_RSP behind the data. There is room for it.
func (k *command) sendResponse(f *dispatch.Frame) {
	c, n := k.c, 0
	if k.faulty {
		n = k.encoded
	}
	if n == 0 {
		n = k.encode()
	}
	_, addr := c.res.response(k.index)
	wr := verbs.WR{ID: wrMove, Op: verbs.Send, NumSGE: 1}
	wr.SGE[0] = verbs.SGE{Addr: addr, Length: uint32(n), LKey: c.res.mr.LKey()}
	c.send(f, &wr)
	if k.faulty && k.x.Duplicate {
		k.sendAgain(f, n)
	}
	k.signal(wrSent)
	c.stats.responses++
}

// residual translates a residual into its field and flag (SRP r16a 6.9).
func residual(flags srp.RspFlags, n int64, under, over srp.RspFlags) (uint32, srp.RspFlags) {
	switch {
	case n > 0:
		return uint32(min(n, 1<<32-1)), flags | under
	case n < 0:
		return uint32(min(-n, 1<<32-1)), flags | over
	}
	return 0, flags
}
