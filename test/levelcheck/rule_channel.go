package levelcheck

import (
	"go/ast"
	"go/token"
	"go/types"
)

// visitChannel refuses whatever can wait on a channel: sends, receives and ranges, and selects without default. Closing
// a channel and asking for its length do not wait.
func visitChannel(b *body, n ast.Node) {
	switch n := n.(type) {
	case *ast.SelectStmt:
		b.selects(n)
	case *ast.SendStmt:
		if !b.polled[n] {
			b.find(ruleChannel, n.Pos(), "sends on a channel, which can wait: use a select with default")
		}
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && !b.polled[n] {
			b.find(ruleChannel, n.Pos(), "receives from a channel, which can wait: use a select with default")
		}
	case *ast.RangeStmt:
		if _, ok := coreType(b.pass.TypesInfo.TypeOf(n.X)).(*types.Chan); ok {
			b.findAt(ruleChannel, n.Pos(), n.X.Pos(), "ranges over a channel, which waits for each element")
		}
	}
}

// decided returns the send or receive of a case, without those that stand in what it sends or where it puts what it has
// received.
func decided(comm ast.Stmt) ast.Node {
	var e ast.Expr
	switch comm := comm.(type) {
	case *ast.SendStmt:
		return comm
	case *ast.ExprStmt:
		e = comm.X
	case *ast.AssignStmt:
		e = comm.Rhs[0]
	}
	if op, ok := ast.Unparen(e).(*ast.UnaryExpr); ok {
		return op
	}
	return nil
}

// selects notes the operations that a select decides on, so that they count as part of it.
func (b *body) selects(s *ast.SelectStmt) {
	executed, polls := s.Pos(), false
	for _, clause := range s.Body.List {
		comm := clause.(*ast.CommClause).Comm
		if comm == nil {
			polls = true
			continue
		}
		executed = comm.Pos()
		if op := decided(comm); op != nil {
			b.polled[op] = true
		}
	}
	if !polls {
		b.findAt(ruleChannel, s.Pos(), executed, "a select without default waits")
	}
}
