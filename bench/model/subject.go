package model

import "sync"

// Subject is what is measured: something that moves data at the places of a case's sequence.
type Subject interface {
	// Name returns "memcpy", "model" or "path".
	Name() string

	// Run moves n requests' data, 1 or more, divided among the lanes, and returns how many did not succeed.
	//
	//level:passive
	Run(n int) (failed int)
}

// runner is a subject in one lane.
type runner interface {
	//level:passive
	run(n int) (failed int)
}

// subject is a runner for each lane.
type subject[R runner] struct {
	name  string
	lanes []R
}

// newSubject makes a runner in each lane of a case.
func newSubject[R runner](b *Bed, c Case, name string, make func(l *lane, c Case) R) (Subject, error) {
	if err := c.check(b); err != nil {
		return nil, err
	}
	s := &subject[R]{name: name}
	for _, l := range b.lanes[:c.lanes()] {
		s.lanes = append(s.lanes, make(l, c))
	}
	return s, nil
}

func (s *subject[R]) Name() string { return s.name }

func (s *subject[R]) Run(n int) (failed int) {
	if len(s.lanes) == 1 {
		return s.lanes[0].run(n)
	}
	failures := make([]int, len(s.lanes))
	var all sync.WaitGroup
	for i, l := range s.lanes {
		mine := n / len(s.lanes)
		if i < n%len(s.lanes) {
			mine++
		}
		if mine > 0 {
			all.Go(func() { failures[i] = l.run(mine) })
		}
	}
	all.Wait()
	for _, n := range failures {
		failed += n
	}
	return failed
}

// Memcpy returns the bare copies of a case. Errors: ErrCase.
func (b *Bed) Memcpy(c Case) (Subject, error) { return newSubject(b, c, "memcpy", newMemcpy) }

// Model returns the model. Errors: ErrCase.
func (b *Bed) Model(c Case) (Subject, error) { return newSubject(b, c, "model", newModel) }

// Path returns the whole path. Errors: ErrCase.
func (b *Bed) Path(c Case) (Subject, error) { return newSubject(b, c, "path", newPath) }
