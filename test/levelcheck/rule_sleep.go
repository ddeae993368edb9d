package levelcheck

import "go/ast"

// sleeps are the functions that give the thread away, or take a timer of the runtime, whose function runs where the
// scheduler likes.
var sleeps = map[string]bool{
	"time.Sleep":      true,
	"time.After":      true,
	"time.AfterFunc":  true,
	"time.NewTimer":   true,
	"time.NewTicker":  true,
	"time.Tick":       true,
	"runtime.Gosched": true,
	"runtime.GC":      true,
}

func callSleep(b *body, call *ast.CallExpr, t target) bool {
	name := fullName(t.fn)
	if !sleeps[name] {
		return false
	}
	b.find(ruleSleep, call.Pos(), "%s waits or allocates: arm a dispatch.Timer, or queue a DPC to go on later", name)
	return true
}
