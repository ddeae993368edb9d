package target

import (
	"time"

	"minisrp/srp"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// What goes wrong on purpose with a request, as package fault says:
//
//	spoil          it has come: actions to the channel, a status in place of what it asks for
//	late           heldPrepared: between Prepare and moving its data
//	spoilResponse  it has ended: lost, or heldAnswer
//	ghost          vanish -> haunt -> heldResponse: between its data and its response, when the server has forgotten it
//	sendAgain, tellResidual

// heldFor is what a command goes on with when its delay is over.
type heldFor uint8

const (
	heldPrepared heldFor = iota // what Prepare said
	heldAnswer                  // its response, with its data
	heldResponse                // its response alone; the server does not know it any more
)

// spoil shows a request to the faults and does what comes first. It reports true if the request has ended by it.
func (k *command) spoil(f *dispatch.Frame) bool {
	c := k.c
	q := &c.port.shown
	*q = fault.Request{Origin: fault.Origin{Initiator: c.login.Initiator, Peer: c.peer}, Channel: c.id}
	if k.function {
		q.Function = &k.tm
	} else {
		q.Command = &k.iu
	}
	x := &k.x
	*x = fault.Effect{}
	c.port.faults.Request(f, q, x)
	if *x == (fault.Effect{}) {
		return false
	}
	c.stats.faults++
	k.faulty, k.encoded = true, 0
	for _, a := range x.Actions() {
		c.act(f, &a)
	}
	switch {
	case c.state > chanLeaving:
		k.finish(f)
		return true
	case x.Status != 0 && !k.function:
		k.end(f, x.Status, x.Key, x.ASC)
		return true
	}
	return false
}

// spoilResponse does what goes wrong before a response, and reports true if that is not to be sent now.
func (k *command) spoilResponse(f *dispatch.Frame) bool {
	switch x := &k.x; {
	case x.Delay > 0:
		k.hold(f, &x.Delay, heldAnswer)
	case x.Lose:
		if x.Leak {
			k.c.limit--
		} else {
			k.c.owed++
		}
		k.finish(f)
	default:
		return false
	}
	return true
}

// hold keeps a command back for a time, which it takes, and says what comes then.
func (k *command) hold(f *dispatch.Frame, d *time.Duration, then heldFor) {
	k.state, k.then = cmdHeld, then
	k.c.port.held.push(k)
	k.timer.Arm(f, *d)
	*d = 0
}

// unhold ends a delay early.
func (k *command) unhold(f *dispatch.Frame) {
	k.timer.Cancel(f)
	k.c.port.held.remove(k)
}

// awake is called when a delay is over.
//
//level:dispatch noalloc
func (k *command) awake(f *dispatch.Frame) {
	k.c.port.held.remove(k)
	k.goOn(f)
	k.c.settle(f)
}

// goOn is what comes after a delay.
func (k *command) goOn(f *dispatch.Frame) {
	switch {
	case k.then == heldPrepared:
		k.prepared(f, k.verdict)
	case k.then == heldAnswer && k.function:
		k.answer(f)
	case k.then == heldAnswer:
		k.respond(f)
	case k.c.state > chanLeaving:
		k.finish(f)
	default:
		k.state, k.move = cmdSending, move{op: verbs.Write}
		k.begun(f)
	}
}

// freeHeld lets go on those that were aborted, unless they are stubborn.
func (p *Port) freeHeld(f *dispatch.Frame) {
	var rest, free list
	for k := p.held.pop(); k != nil; k = p.held.pop() {
		if !k.function && k.inSet && k.task.Aborted() && !k.x.Stubborn {
			free.push(k)
		} else {
			rest.push(k)
		}
	}
	p.held = rest
	for k := free.pop(); k != nil; k = free.pop() {
		k.timer.Cancel(f)
		k.goOn(f)
		k.c.more.Queue(f)
	}
}

// vanish goes on with a command all of whose data is on its way, when its response shall come after aborts find it
// ended. It reports false if the command waits, in parked, for an earlier part of its data to be taken.
func (k *command) vanish(f *dispatch.Frame, made bool) bool {
	switch {
	case made:
		k.signal(wrMoved)
	case k.move.total > 0 && k.c.done < k.mark:
		k.park()
		return false
	default:
		k.haunt(f)
	}
	return true
}

// haunt makes the response and lets the server forget the command: the response comes later, whatever happens.
func (k *command) haunt(f *dispatch.Frame) {
	k.encoded = k.encode()
	if k.inSet {
		k.leaveSet(f)
	}
	k.hold(f, &k.x.Ghost, heldResponse)
}

// sendAgain sends the response of n bytes a second time, without credit.
func (k *command) sendAgain(f *dispatch.Frame, n int) {
	c := k.c
	first, _ := c.res.response(k.index)
	b, addr := c.res.second(k.index)
	copy(b, first[:n])
	clear(b[4:8]) // REQUEST LIMIT DELTA
	wr := verbs.WR{ID: wrMove, Op: verbs.Send, NumSGE: 1}
	wr.SGE[0] = verbs.SGE{Addr: addr, Length: uint32(n), LKey: c.res.mr.LKey()}
	c.send(f, &wr)
}

// tellResidual makes the response tell what the fault says of the command's data.
func (k *command) tellResidual(r *srp.Response) {
	r.Flags &^= srp.DataInUnder | srp.DataInOver | srp.DataOutUnder | srp.DataOutOver
	r.DataInResidual, r.DataOutResidual = 0, 0
	if k.iu.DataOut.Length > 0 {
		r.DataOutResidual, r.Flags = residual(r.Flags, k.x.Residual, srp.DataOutUnder, srp.DataOutOver)
		return
	}
	r.DataInResidual, r.Flags = residual(r.Flags, k.x.Residual, srp.DataInUnder, srp.DataInOver)
}
