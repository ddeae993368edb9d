package levelcheck

import "go/ast"

// callBlocks looks into the computing functions that are called: here through an edge, in other packages by the fact
// that their own check left.
func callBlocks(b *body, call *ast.CallExpr, t target) bool {
	if t.fn == nil {
		return false
	}
	if t.fn.Pkg() == b.pass.Pkg {
		if callee := b.byFunc[t.fn]; callee != nil {
			b.calls(call.Pos(), callee)
		} else {
			b.find(ruleBlocks, call.Pos(), "calls %s, which has no body here and bears no mark", t.name)
		}
		return true
	}
	var blocks Blocks
	if b.pass.ImportObjectFact(t.fn, &blocks) {
		b.find(ruleBlocks, call.Pos(), "calls %s, which blocks (%s)", t.name, blocks.Reason)
	}
	return true
}
