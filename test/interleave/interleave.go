package interleave

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
)

// Chooser picks one of n that can go on: 0 to n-1.
type Chooser func(n int) int

// Random returns a chooser that depends on nothing but the seed.
func Random(seed uint64) Chooser {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(n int) int { return r.IntN(n) }
}

// Run is one execution of a set of actors.
type Run struct {
	actors []*actor
	cur    *actor
}

type actor struct {
	name  string
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	ready func() bool // nil: can go on
	done  bool
	serve bool // has no end of its own
}

// over ends an actor that has not ended when the run has.
type over struct{}

// Go adds an actor that starts when it is first chosen, after ready, if not nil,
// has said so.
func (r *Run) Go(name string, ready func() bool, fn func()) {
	r.add(&actor{name: name, ready: ready}, fn)
}

// Serve adds an actor that calls step each time that ready says so, until the run is
// over.
func (r *Run) Serve(name string, ready func() bool, step func()) {
	r.add(&actor{name: name, ready: ready, serve: true}, func() {
		for {
			step()
			r.When(ready)
		}
	})
}

func (r *Run) add(a *actor, fn func()) {
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if v := recover(); v != nil && v != any(over{}) {
				panic(v)
			}
		}()
		a.yield = yield
		fn()
		a.done = true
	})
	r.actors = append(r.actors, a)
}

// At stops the actor that runs, until it is chosen again. Outside of Finish it does
// nothing, so that the hook may stay set while a test prepares and checks.
func (r *Run) At() { r.When(nil) }

// When is At for an actor that cannot go on before ready says so: in front of what
// would block.
func (r *Run) When(ready func() bool) {
	a := r.cur
	if a == nil {
		return
	}
	a.ready = ready
	if !a.yield(struct{}{}) {
		panic(over{})
	}
	a.ready = nil
}

// Done reports whether the actor of that name has ended.
func (r *Run) Done(name string) bool {
	for _, a := range r.actors {
		if a.name == name && !a.done {
			return false
		}
	}
	return true
}

// maxSteps is far more than the models need: who gets there goes round in circles.
const maxSteps = 20000

// Finish lets the actors run, in the order that choose makes, until no one can go on.
// An error names those made by Go that had not ended then.
func (r *Run) Finish(choose Chooser) error {
	defer func() {
		r.cur = nil
		for _, a := range r.actors {
			a.stop()
		}
	}()
	for range maxSteps {
		var can []*actor
		for _, a := range r.actors {
			if !a.done && (a.ready == nil || a.ready()) {
				can = append(can, a)
			}
		}
		if len(can) == 0 {
			return r.stuck()
		}
		r.cur = can[choose(len(can))]
		r.cur.next()
		r.cur = nil
	}
	return fmt.Errorf("no end after %d steps", maxSteps)
}

func (r *Run) stuck() error {
	var left []string
	for _, a := range r.actors {
		if !a.done && !a.serve {
			left = append(left, a.name)
		}
	}
	if left == nil {
		return nil
	}
	return fmt.Errorf("waits for ever: %s", strings.Join(left, ", "))
}

// Search runs body with every sequence of choices in depth-first order, up to a
// number of runs or until stop, and returns how many it made.
func Search(most int, body func(choose Chooser), stop func() bool) int {
	var path, width []int
	for runs := 1; ; runs++ {
		depth := 0
		body(func(n int) int {
			if depth == len(path) {
				path, width = append(path, 0), append(width, n)
			}
			width[depth] = n
			c := min(path[depth], n-1)
			depth++
			return c
		})
		path, width = path[:depth], width[:depth]
		i := depth - 1
		for i >= 0 && path[i] == width[i]-1 {
			i--
		}
		if i < 0 || runs == most || stop() {
			return runs
		}
		path[i]++
		path, width = path[:i+1], width[:i+1]
	}
}
