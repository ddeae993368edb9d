package lock

import (
	"sync"

	"minisrp/verbs/dispatch"
)

type embeds struct{ sync.Mutex }

type state struct {
	mu   sync.Mutex
	rw   sync.RWMutex
	wg   sync.WaitGroup
	cond *sync.Cond
	once sync.Once
	embeds
	l sync.Locker
}

func (s *state) waits(f *dispatch.Frame) {
	s.mu.Lock()     // want `\[lock\] at Dispatch: sync.Mutex.Lock can wait`
	s.rw.Lock()     // want `\[lock\] at Dispatch: sync.RWMutex.Lock can wait`
	s.rw.RLock()    // want `\[lock\] at Dispatch: sync.RWMutex.RLock can wait`
	s.wg.Wait()     // want `\[lock\] at Dispatch: sync.WaitGroup.Wait can wait`
	s.cond.Wait()   // want `\[lock\] at Dispatch: sync.Cond.Wait can wait`
	s.once.Do(nil)  // want `\[lock\] at Dispatch: sync.Once.Do can wait`
	s.embeds.Lock() // want `\[lock\] at Dispatch: sync.Mutex.Lock can wait`
	s.l.Lock()      // want `\[lock\] at Dispatch: sync.Locker.Lock can wait`
}

func (s *state) tries(f *dispatch.Frame) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	if s.rw.TryRLock() {
		s.rw.RUnlock()
	}
	s.wg.Add(1)
	s.wg.Done()
	s.cond.Signal()
	return true
}
