package target

import (
	"time"

	"minisrp/srp"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// channel is one RDMA channel: a QP with its CQ and memory, from a login to its end.
//
//	CQ -> notified -> received -> command  (command.go)
//	                              manage   (manage.go)
//	      flush: receives that are free again, then what is to be sent
//
// All of it runs at Dispatch on the port's processor; only build and dispose are Passive.
//
// Ownership: the port's, in its list from the login until gone.
type channel struct {
	// Fixed after build.
	port      *Port
	group     *Group
	id        uint64 // of the channel in the port, for lists and logs
	login     srp.LoginReq
	peer      verbs.Address
	begun     time.Duration // when its login came
	maxIU     int           // bytes of an information unit that it takes
	res       resources
	immediate int // offset of immediate data in an SRP_CMD; 0: none was agreed on

	next   *channel // in the port's list
	nexus  *nexus
	inNext *channel // in the nexus' list

	state    channelState
	commands []command
	free     list
	busy     int    // commands that are not free
	ready    list   // have got what they waited for
	parked   list   // wait for room in the send queue
	backlog  ring   // receives that wait for a command
	limit    int32  // the request limit, as far as the initiator knows
	owed     int32  // credits of commands that were not answered
	withheld int32  // credits that are not given back
	asking   asking // requests of the target's own
	posted   uint64 // work requests that went to the send queue, or are in sends
	done     uint64 // and those of them whose place is free again
	sends    []verbs.WR
	recvs    []verbs.RecvWR
	stats    channelStats

	more dispatch.DPC // goes on with what is left to do

	// Making and ending: see login.go and down.go.
	request    *verbs.ConnectRequest
	trouble    fault.LoginEffect // what goes wrong with it
	patience   dispatch.Timer    // for an answer that is late on purpose
	result     srp.LoginRspFlags // what becomes of the nexus' other channels
	buildWork  dispatch.Work
	built      dispatch.DPC
	buildErr   error
	logWork    dispatch.Work
	loggedIn   bool
	accept     verbs.Op[verbs.None]
	acceptAttr verbs.AcceptAttr
	reply      [srp.LoginRspLen]byte
	modify     verbs.Op[verbs.None]
	disconnect verbs.Op[verbs.None]
	timer      dispatch.Timer
	drains     uint8 // markers that have not come back
	cause      cause
	hungUp     bool // Disconnect was called
	swept      bool // what was with the device has been ended
	qpClosed   bool // the device forgets the QP: there will be no markers
	closeQPOp  verbs.Op[verbs.None]
	endWork    dispatch.Work
	then       steps
	disposed   dispatch.DPC

	// Room for one call's work, so that nothing is on the heap.
	rsp srp.Response
	tlo srp.TLogout
	wcs [pollBatch]verbs.WC
}

// steps is what comes after the channel's operations: made once, since a method value is on the heap.
type steps struct{ accepted, parted, errored, forgotten verbs.ThenFunc[verbs.None] }

// channelState is where a channel is in its life.
//
//	state      event                                      state'
//	building   built                                      accepting | disposing
//	accepting  accepted                                   up
//	accepting  not accepted                               failing
//	up         SRP_I_LOGOUT                               leaving
//	up         told to go: T_LOGOUT is sent               hangingUp
//	leaving    nothing outstanding                        hangingUp
//	any        error, disconnected, hung up               failing
//	failing    flushed, nothing outstanding               disposing
//	disposing  given back                                 gone
type channelState uint8

const (
	chanBuilding  channelState = iota
	chanAccepting              // what is received waits
	chanUp
	chanLeaving   // answers what it has, takes nothing new
	chanHangingUp // takes and answers nothing
	chanFailing   // the QP is being flushed
	chanDisposing
)

// cause says why a channel ends.
type cause uint8

const (
	causeNone         cause = iota
	causeILogout            // the initiator logged out
	causeTLogout            // the port told it to go
	causeDisconnected       // DREQ, or the initiator is gone
	causeTransport          // a work request failed
	causeProtocol           // the initiator sent what it must not
	causeLogin              // the login did not come to its end
	causeFault              // on purpose
)

var causeText = [...]string{
	"", "initiator logged out", "target logged out", "disconnected", "transport error", "protocol violation", "login failed",
	"disconnected on purpose",
}

func (c cause) String() string { return causeText[c] }

// channelStats counts what a channel has done.
type channelStats struct {
	commands, functions, responses uint64
	bytesIn, bytesOut, immediate   uint64 // as the initiator calls them: in is what it read
	quiet                          uint64 // commands that ended without a response
	faults                         uint64 // requests that something went wrong with on purpose
	asked, unasked                 uint64 // requests of the target's own; answers to none of them
	malformed                      uint64 // commands refused for what they look like
	waited                         uint64 // commands that waited for memory
	parked                         uint64 // and for room in the send queue
}

// The kinds of work requests, in the upper half of their IDs; an index is in the lower.
const (
	wrMove      uint64 = iota << 32 // part of a command's data; unsignalled
	wrPart                          // the same, to know when there is room; index of the command
	wrTable                         // the command's descriptor table has come
	wrFetched                       // the last of the command's data has come
	wrSent                          // SEND of the command's response
	wrMoved                         // the last of the command's data has gone; its response waits
	wrAsk                           // SEND of a request of the target's
	wrLogout                        // SEND of SRP_T_LOGOUT
	wrRecv                          // index of the receive
	wrDrainSend                     // marker at the end of the send queue
	wrDrainRecv                     // marker at the end of the receive queue

	wrKindMask = ^uint64(1<<32 - 1)
)

// notified takes what has completed, and arms the CQ when there is no more.
//
//level:dispatch noalloc
func (c *channel) notified(f *dispatch.Frame, cq *verbs.CQ) { c.run(f) }

// run does what there is to do, a bounded part at a time.
func (c *channel) run(f *dispatch.Frame) {
	if c.state == chanBuilding || c.state == chanDisposing {
		return
	}
	for range batchesARun {
		n := c.res.cq.Poll(f, c.wcs[:])
		for i := range n {
			c.completed(f, &c.wcs[i])
		}
		c.resume(f)
		c.flush(f)
		if n == 0 {
			if c.state != chanDisposing {
				c.res.cq.Arm(f)
			}
			return
		}
	}
	c.more.Queue(f)
}

// runMore goes on where something was left, without looking at the CQ first.
//
//level:dispatch noalloc
func (c *channel) runMore(f *dispatch.Frame) { c.run(f) }

// completed handles one completion.
func (c *channel) completed(f *dispatch.Frame, wc *verbs.WC) {
	kind, i := wc.ID&wrKindMask, uint32(wc.ID)
	switch kind {
	case wrDrainSend, wrDrainRecv:
		c.drains--
		return
	}
	if wc.Status != verbs.Success {
		c.fail(f, causeTransport)
		return
	}
	switch kind {
	case wrRecv:
		c.received(f, i, int(wc.ByteLen))
	case wrPart:
		c.room(&c.commands[i])
	case wrTable:
		c.room(&c.commands[i])
		c.commands[i].tabled(f)
	case wrFetched:
		c.room(&c.commands[i])
		c.commands[i].execute(f)
	case wrSent:
		c.room(&c.commands[i])
		c.commands[i].finish(f)
	case wrMoved:
		c.room(&c.commands[i])
		c.commands[i].haunt(f)
	case wrAsk:
		c.asked(f)
	case wrLogout:
		c.hangUp(f)
	}
}

// room notes that everything up to k's last signalled work request has its place free again: the queue is done in order.
func (c *channel) room(k *command) { c.done = max(c.done, k.mark) }

// received handles an information unit of n bytes in the receive i.
func (c *channel) received(f *dispatch.Frame, i uint32, n int) {
	switch {
	case c.state == chanAccepting || c.free.head == nil && c.state == chanUp:
		c.backlog.push(i, uint32(n))
		return
	case c.state != chanUp:
		return
	}
	b := c.res.receive(i)[:min(n, c.res.recvLen)]
	op, tag, ok := srp.Peek(b)
	switch {
	case ok && op == srp.OpCommand && len(b) >= srp.CommandLen:
		c.free.pop().begin(f, i, b)
		return
	case ok && op == srp.OpTaskManagement && len(b) >= srp.TaskManagementLen:
		c.free.pop().manage(f, i, b)
		return
	case ok && op == srp.OpILogout:
		c.leave(f)
	case ok && (op == srp.OpCredRsp || op == srp.OpAERRsp):
		c.answered(f, op, tag)
	default:
		c.violated(f)
	}
	c.repost(i)
}

// catchUp takes the backlog on, as long as there are commands free.
func (c *channel) catchUp(f *dispatch.Frame) {
	for c.state == chanUp && c.free.head != nil {
		i, n, ok := c.backlog.pop()
		if !ok {
			return
		}
		c.received(f, i, int(n))
	}
}

// settle ends a call that came from outside the channel's own completions.
func (c *channel) settle(f *dispatch.Frame) {
	c.resume(f)
	c.flush(f)
}

// resume goes on with commands that have got what they waited for.
func (c *channel) resume(f *dispatch.Frame) {
	if c.state >= chanFailing {
		return // see flushed
	}
	for k := c.ready.pop(); k != nil; k = c.ready.pop() {
		k.buffered(f)
	}
	for c.parked.head != nil && c.space() > 0 {
		k := c.parked.pop()
		if !k.pump(f) {
			break // it has parked itself again, at the end; the others need room too
		}
	}
	c.catchUp(f)
}

// space returns how many work requests the send queue has room for.
func (c *channel) space() int { return c.res.sends - int(c.posted-c.done) }

// send collects a work request. The caller has seen that there is space.
func (c *channel) send(f *dispatch.Frame, wr *verbs.WR) {
	if len(c.sends) == cap(c.sends) {
		c.flush(f)
	}
	c.sends = dispatch.Append(c.sends, *wr)
	c.posted++
}

// repost collects a receive to post again.
func (c *channel) repost(i uint32) { c.recvs = dispatch.Append(c.recvs, c.res.recv(i)) }

// flush posts what has been collected: receives first, since what is sent may be answered at once.
func (c *channel) flush(f *dispatch.Frame) {
	if c.state >= chanFailing {
		c.sends, c.recvs = c.sends[:0], c.recvs[:0]
		c.flushed(f)
		return
	}
	var err error
	if len(c.recvs) > 0 {
		_, err = c.res.qp.PostRecv(f, c.recvs)
		c.recvs = c.recvs[:0]
	}
	if len(c.sends) > 0 && err == nil {
		_, err = c.res.qp.Post(f, c.sends)
		c.sends = c.sends[:0]
	}
	if err != nil {
		c.fail(f, causeTransport)
	}
	if c.state == chanLeaving && c.busy == 0 {
		c.hangUp(f)
	}
}

// ring holds receives in the order in which they came. It has room for all of a channel's.
type ring struct {
	at, n int
	items []struct{ index, length uint32 }
}

func (r *ring) push(index, length uint32) {
	r.items[(r.at+r.n)%len(r.items)] = struct{ index, length uint32 }{index, length}
	r.n++
}

func (r *ring) pop() (index, length uint32, ok bool) {
	if r.n == 0 {
		return 0, 0, false
	}
	i := r.items[r.at]
	r.at, r.n = (r.at+1)%len(r.items), r.n-1
	return i.index, i.length, true
}
