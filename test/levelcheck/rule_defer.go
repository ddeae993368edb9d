package levelcheck

import "go/ast"

// visitDefer refuses a defer in a loop: each turn adds to a list on the heap that runs only at the end.
func visitDefer(b *body, n ast.Node) {
	var loop *ast.BlockStmt
	switch n := n.(type) {
	case *ast.ForStmt:
		loop = n.Body
	case *ast.RangeStmt:
		loop = n.Body
	default:
		return
	}
	ast.Inspect(loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // has defers of its own, which run at its end
		case *ast.ForStmt, *ast.RangeStmt:
			return false // is visited in its turn
		case *ast.DeferStmt:
			b.find(ruleDefer, n.Pos(), "defers in a loop: every turn allocates, and runs only at the end of the function")
		}
		return true
	})
}
