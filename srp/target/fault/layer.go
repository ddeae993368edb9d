package fault

import (
	"time"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Origin is who a request comes from.
type Origin struct {
	Initiator srp.PortID
	Peer      verbs.Address // as verbs.ConnectRequest gives it
}

// Login is a login that has come.
type Login struct {
	Origin
	Request *srp.LoginReq // not to be changed or kept
}

// Request is a command or task management function that has come.
type Request struct {
	Origin
	Channel uint64 // its number in the port
	// One of the two is nil. They are not to be changed or kept.
	Command  *srp.Command
	Function *srp.TaskManagement
}

// Layer decides what goes wrong. It is shown what those before it in a stack have decided, and adds to it.
type Layer interface {
	// Login is shown a login.
	//
	//level:dispatch
	Login(f *dispatch.Frame, l *Login, x *LoginEffect)

	// Request is shown a command or task management function.
	//
	//level:dispatch noalloc
	Request(f *dispatch.Frame, r *Request, x *Effect)
}

// Stack is layers, of which each is shown everything in turn.
type Stack []Layer

// Login implements Layer.
func (s Stack) Login(f *dispatch.Frame, l *Login, x *LoginEffect) {
	for _, layer := range s {
		layer.Login(f, l, x)
	}
}

// Request implements Layer.
func (s Stack) Request(f *dispatch.Frame, r *Request, x *Effect) {
	for _, layer := range s {
		layer.Request(f, r, x)
	}
}

// LoginEffect is what goes wrong with a login. The zero value is nothing.
type LoginEffect struct {
	Reject  srp.RejectReason   // refused with it
	CM      verbs.RejectReason // refused by the connection manager, which goes first
	Delay   time.Duration      // answered so much later
	Credits int                // the request limit begins with it, as far as the port has room; 0: with the port's
	IULimit int                // bytes: requests for longer information units are refused; 0: the port's limit
	MaxIU   int                // bytes that the answer allows information units to have; 0: what is right
}

// Effect is what goes wrong with a command or task management function. The zero value is nothing. Of a function only
// Delay, Stubborn, Lose, Leak, Duplicate and the actions count.
type Effect struct {
	Late     time.Duration // it is carried out so much later
	Delay    time.Duration // it is answered, with its data, so much later
	Ghost    time.Duration // its data moves, and aborts find it ended, but its response comes so much later
	Stubborn bool          // aborts wait for Late and Delay instead of ending them

	Lose      bool // it is not answered. Its credit comes with the next response, unless
	Leak      bool // that is lost too
	Duplicate bool // it is answered twice. There is no credit in the second response

	Status scsi.Status // it is ended with it instead of being carried out; 0: it is not
	Key    scsi.SenseKey
	ASC    scsi.ASC // with CHECK CONDITION, as Key

	// Residual is told in place of the right one, if HasResidual: bytes left over; below 0, bytes that found no room.
	Residual    int64
	HasResidual bool

	actions [maxActions]Action
	n       uint8
}

// maxActions bounds what happens to a channel because of one request. What is beyond does not happen.
const maxActions = 4

// Do adds an action, which happens before the request is looked at.
func (x *Effect) Do(a Action) {
	if int(x.n) < len(x.actions) {
		x.actions[x.n] = a
		x.n++
	}
}

// Actions returns what was added.
func (x *Effect) Actions() []Action { return x.actions[:x.n] }

// ActionKind is a kind of action.
type ActionKind uint8

const (
	CreditRequest ActionKind = iota // SRP_CRED_REQ changes the request limit by Credits
	Withhold                        // Credits credits are not given back
	AsyncEvent                      // SRP_AER_REQ: a unit attention with ASC at LUN
	Logout                          // SRP_T_LOGOUT with Reason, then the connection is closed
	Disconnect                      // the connection is closed
)

// Action is something that a target does to a channel of its own accord.
type Action struct {
	Kind    ActionKind
	Credits int32
	LUN     scsi.LUN
	ASC     scsi.ASC
	Reason  srp.LogoutReason
}
