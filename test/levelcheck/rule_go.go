package levelcheck

import "go/ast"

// visitGo refuses to start goroutines: that allocates, and the goroutine would have no owner who can wait for it.
func visitGo(b *body, n ast.Node) {
	if stmt, ok := n.(*ast.GoStmt); ok {
		b.find(ruleGo, stmt.Pos(), "starts a goroutine: leave a Work item for a worker instead")
	}
}

// callGo leaves the call of a go statement to visitGo, and refuses functions that hide one.
func callGo(b *body, call *ast.CallExpr, t target) bool {
	if fullName(t.fn) == "sync.WaitGroup.Go" {
		b.find(ruleGo, call.Pos(), "starts a goroutine: leave a Work item for a worker instead")
		return true
	}
	return false
}
