package levelcheck

import "go/ast"

// waits are the methods of package sync that can wait for another goroutine. TryLock and the unlocking ones do not.
var waits = map[string]bool{
	"sync.Mutex.Lock":     true,
	"sync.RWMutex.Lock":   true,
	"sync.RWMutex.RLock":  true,
	"sync.Locker.Lock":    true,
	"sync.Cond.Wait":      true,
	"sync.WaitGroup.Wait": true,
	"sync.Once.Do":        true,
}

// callLock refuses to wait for a lock, for a condition, or for another's initialisation.
func callLock(b *body, call *ast.CallExpr, t target) bool {
	name := fullName(t.fn)
	if t.method != nil {
		name = fullName(t.method)
	}
	if !waits[name] {
		return false
	}
	b.find(ruleLock, call.Pos(), "%s can wait for another goroutine: give the state to one processor, or try and hand over", name)
	return true
}
