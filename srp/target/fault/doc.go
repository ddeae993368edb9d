// Package fault says what a target does wrong on purpose: in tests of initiators, and for operators who want to see
// what becomes of it. It must not do any of it; that is package target's.
//
// A Layer is shown each login and each request, and adds to its effect. Layers stack. Rules are a layer that has a text
// form, for command lines and control commands: rules, each of a kind with its value and of conditions,
//
//	delay=50ms,op=read,every=10; lose,op=write,p=0.01; seed=7
//
// What goes wrong with a request:
//
//	late=TIME        it is carried out so much later
//	delay=TIME       it is answered, with its data, so much later; op=tmf and op=login can be delayed too
//	ghost=TIME       its data moves and aborts find it ended, but its response comes so much later
//	lose             it is not answered, and its credit comes with the next response to another; also op=tmf
//	duplicate        it is answered twice; also op=tmf
//	status=STATUS    it is not carried out but ended with busy, task-set-full, reservation-conflict, task-aborted, 0xNN
//	sense=KEY/ASC    the same with CHECK CONDITION: a sense key and a code, hexadecimal, as in 3/1100
//	residual=BYTES   its response tells of so many bytes left over; below 0, of so many that found no room
//
// What goes wrong with its channel, before it is looked at:
//
//	cred-req=N       SRP_CRED_REQ raises the request limit by N, or lowers it if N is below 0
//	withhold=N       the next N credits are not given back
//	aer=ASC[@LUN]    SRP_AER_REQ reports a unit attention, as in 3f0e
//	logout=REASON    SRP_T_LOGOUT with a reason, 0 to 4
//	disconnect       the connection is closed without a word
//
// What goes wrong with a login:
//
//	reject=REASON    SRP_LOGIN_REJ with a reason, as in 0x00010003
//	cm-reject=N      a reject of the connection manager
//	stale            the same: stale connection (10)
//	redirect         the same: port and CM redirection (24), without saying where to
//	credits=N        the request limit begins with N
//	iu-limit=N       information units of more than N bytes are refused, as by a port that takes no more
//	max-iu=N         the answer allows information units of N bytes, whatever was asked for
//
// Conditions, all of which must hold:
//
//	op=WHAT          any (the default), read, write, flush, unmap, or an operation code such as 0x28; tmf, abort,
//	                 reset; login
//	lun=N            at a LUN, as the initiator numbers it
//	from=WHO         of an initiator; see package access
//	p=X              by chance, with a probability
//	skip=N           but for the first N
//	every=N          and of the rest only each Nth
//	times=N          and no more than N times
//
// stubborn, with late and delay: aborts wait instead of ending it. leak, with lose: the credit is lost too.
//
// # Ownership
//
// Layers are called on one processor, that of the port which has them. Rules count by themselves, so each port needs
// its own. Hits and Struck may be called by anybody.
//
// # Levels
//
// Login and Command of a layer are Dispatch; Command allocates nothing. Parsing and printing are for Passive callers.
//
// # Chance
//
// Rules with p have a generator each, which the seed and the rule's place seed: what a rule does depends on nothing
// but the requests that it is shown. seed=N holds for the rules that follow it; without one it is 1.
//
// # Errors
//
// *SyntaxError, which is ErrSyntax.
package fault
