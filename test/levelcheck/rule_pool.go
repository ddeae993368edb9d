package levelcheck

import "go/ast"

// callPool refuses sync.Pool: it gives back nothing when the collector has run, so that Get allocates just under load,
// and nobody can count what is outstanding.
func callPool(b *body, call *ast.CallExpr, t target) bool {
	switch fullName(t.fn) {
	case "sync.Pool.Get", "sync.Pool.Put":
		b.find(rulePool, call.Pos(), "uses a sync.Pool, which allocates when it is empty: preallocate, and keep a free list")
		return true
	}
	return false
}
