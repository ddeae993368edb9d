// Package levelcheck proves that what runs at Dispatch neither waits nor calls what might. It must not be
// imported by what it checks.
//
// It is an analyzer of the golang.org/x/tools/go/analysis framework, and works package by package, in the order of
// imports: what it learns of a function it leaves as a fact for the packages above.
//
// # Levels
//
// A function has the level that its mark says, else the one of its signature: *dispatch.Frame first is Dispatch,
// context.Context first is Passive, neither is computing. Marks are lines of a doc comment:
//
//	//level:passive            blocks, although it takes no context
//	//level:dispatch           runs at Dispatch, although it takes no frame
//	//level:dispatch noalloc   and stands on the data path
//
// They may stand on functions, interface methods, function types, and variables and fields of function type. A
// function literal has the level of the type, variable or field that it goes to; one that is called where it stands,
// also by defer, is part of the function around it; one that go starts is Passive.
//
// A function at Dispatch is checked statement by statement. A computing one is looked into, and through what it
// calls: if anything in it breaks a rule, it blocks, and must not be called at Dispatch. A Passive one is free, except
// between Raise and Lower: what is reached only with the frame raised is checked as Dispatch.
//
// # Rules
//
//	raise     Raise by who has a frame already; Lower by who did not raise; Raise without Lower, in one function and on
//	          all ways through it; either as a value or through an interface; a frame that is kept, or handed on while
//	          it is not raised
//	passive   a call of a Passive function
//	blocks    a call of a computing function that breaks a rule, or has no body to look into
//	dynamic   a call through an interface method or function value without a mark; range over a function
//	convert   a value that becomes a function type marked dispatch, or an interface with such a method, and does
//	          not keep to it: Passive, blocking, or of unknown level. Type arguments and type assertions count
//	channel   send, receive, range; select without default
//	lock      Mutex.Lock, RWMutex.Lock and RLock, WaitGroup.Wait, Cond.Wait, Once.Do
//	sleep     time.Sleep and the timers of the runtime; runtime.Gosched
//	go        a go statement, or WaitGroup.Go
//	defer     a defer in a loop
//	loop      a loop of which not every way round steps what its end depends on; a goto that leads back; calls in a circle
//	pool      sync.Pool
//	cgo       a call into C
//	std       any other call out of the module that is not on the list in allowlist.go
//	noalloc   memory from the heap on the data path
//	mark      a mark that is misspelt, stands on nothing, or contradicts the signature; a frame that is not first
//	allow     an exemption that is badly formed, gives no reason, or is not needed
//
// # Loops
//
// Work at Dispatch is bounded: a range has an end, and so has a loop when every way round it passes one of these, on
// which its end depends. A place gets a new value that depends on the old one, here or in a method that is called. A queue
// is popped, or taken from, to which the loop does not add. The clock of the frame is read. An atomic operation is tried
// on what was read in the same round: that fails only when somebody else's has succeeded. How many rounds it takes is
// not known, nor whether a value comes nearer to the end; the run-time twin measures.
//
// # The data path
//
// What is marked noalloc takes no memory from the heap, nor does what it calls in this module, at whatever level. What
// becomes a function type, variable or interface method marked noalloc is held to it too. The compiler says what escapes
// to the heap: the command has the packages built with -gcflags=-m, the report comes from the build cache when nothing
// has changed, and each of its lines becomes an error of the function that it is in. Inlining is off for this, so that
// the line is the one that was written. Constants, values without size and functions that capture nothing escape
// without taking memory. What is decided only when the program runs the report does not tell, so the source is searched
// for it: writes to maps, strings that are put together or converted, make of a size that is not constant, append.
// dispatch.Append stands in for the latter. It is also allowed on parts of arrays, and in functions whose names start
// with Append, on what their caller gave, who is held to the same; that there is room is for tests to show.
//
// Packages whose names end in test stand in for others, and are not held to it.
//
// The arguments of panic are not looked at: they are evaluated when an invariant is broken already.
//
// # Exemptions
//
//	//level:allow RULE: reason
//
// on its own line frees the statement that starts on the next line from one rule. mark and allow know no exemption, nor
// do the functions of the data path (StartIO, BuildIO, Post, Poll, handleRSP), nor what these call in their package. The
// command prints all of them, and fails when there are more than 10 outside packages for tests.
//
// # Limits
//
// Reflection and unsafe are not followed, nor a spin lock that is taken for a retry because its state is read anew each
// time. Files that the build leaves out, by tags or by system, are not looked at. Package verbs/dispatch checks when the
// program runs what this one cannot: see its tag leveltwin.
//
// # Testing
//
// testdata holds for every rule a package that breaks it, with what must be said on each line, and what is near to
// it and allowed. A second one breaks it directly, through an interface, a function value, a closure, a generic function
// and a generic type; a table in routes_test.go fails for a rule or a route that has none. Package fool keeps the ways on
// which the checker was once got past.
package levelcheck
