package levelcheck

import (
	"go/ast"
	"go/types"
)

// callDynamic refuses calls whose target nobody has said the level of: through an interface method or a function value
// without a mark.
func callDynamic(b *body, call *ast.CallExpr, t target) bool {
	switch {
	case t.method != nil:
		b.find(ruleDynamic, call.Pos(), "calls %s through an interface, and the method bears no mark: any implementation may block", t.name)
		return true
	case t.lit != nil:
		if callee := b.byLit[t.lit]; callee != nil {
			b.callsLiteral(call, callee)
		}
		return true
	case t.value != nil:
		b.find(ruleDynamic, call.Pos(), "calls the function value %s, and neither its type nor its variable bears a mark: it may block", t.name)
		return true
	}
	return false
}

func (b *body) callsLiteral(call *ast.CallExpr, callee *node) {
	switch callee.level {
	case Passive:
		b.find(rulePassive, call.Pos(), "calls %s, which is passive", callee.name)
	case Computing:
		b.calls(call.Pos(), callee)
	}
}

// visitDynamic refuses to range over a function: that calls it.
func visitDynamic(b *body, n ast.Node) {
	if loop, ok := n.(*ast.RangeStmt); ok {
		if _, ok := coreType(b.pass.TypesInfo.TypeOf(loop.X)).(*types.Signature); ok {
			b.findAt(ruleDynamic, loop.Pos(), loop.X.Pos(), "ranges over a function, which is a call of it, and of the loop's body by it")
		}
	}
}
