package token

import (
	"context"
	"runtime"
	"time"

	"minisrp/verbs/dispatch"
)

// Step is how long a piece of work may take that Do runs: what a processor may have to wait for, should it come to that.
const Step = time.Millisecond

// Pool has a number of tokens. Those who wait for one get it in the order in which they came.
type Pool struct{ taken chan struct{} }

// New makes a pool of n tokens, 1 or more.
func New(n int) *Pool { return &Pool{taken: make(chan struct{}, max(1, n))} }

// busy is how many goroutines of a library may burn CPU at once, which cannot be made to take tokens: badger's two
// compactors, what writes its tables, and what writes its logs.
const busy = 4

// Procs returns what GOMAXPROCS is to be in a program that has a number of processors: one place for each CPU and each
// processor, and one for each goroutine that burns CPU without a token. Where all places are taken, Go lets a processor
// wait for 10 ms, whatever the system would do; where one is free, the system decides, and lets it run at once.
func Procs(processors int) int { return runtime.NumCPU() + processors + busy }

// Default is the process's: a token for each CPU but one.
var Default = New(runtime.NumCPU() - 1)

// Size returns how many tokens there are.
func (p *Pool) Size() int { return cap(p.taken) }

// Do runs fn with a token, as soon as there is one. fn computes, for no longer than Step; what takes longer is cut into
// pieces, each with a Do of its own. Errors: ctx's, if it ends first; fn has not been run then.
func (p *Pool) Do(ctx context.Context, fn func()) error {
	dispatch.AssertPassive()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.taken <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.taken }()
	fn()
	return nil
}
