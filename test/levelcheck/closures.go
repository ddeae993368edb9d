package levelcheck

import (
	"go/ast"
	"go/token"
	"go/types"
)

// findClosures finds the literals that are called where they stand, those that start a goroutine, and the local
// variables that hold one literal, or the address of one thing, from their declaration to their end.
func (c *checker) findClosures() {
	assigned := make(map[*types.Var]int)
	declared := make(map[*types.Var]bool) // by a statement: a parameter has a value from the start
	set := func(lhs, rhs ast.Expr) {
		id, ok := ast.Unparen(lhs).(*ast.Ident)
		if !ok {
			return
		}
		v, ok := c.pass.TypesInfo.ObjectOf(id).(*types.Var)
		if !ok || v.IsField() || v.Pkg() == nil || v.Parent() == v.Pkg().Scope() {
			return
		}
		assigned[v]++
		if c.pass.TypesInfo.Defs[id] == v {
			declared[v] = true
		}
		switch rhs := rhs.(type) {
		case *ast.FuncLit:
			c.closures[v] = rhs
		case *ast.UnaryExpr:
			if rhs.Op == token.AND {
				c.aliases[v] = rhs.X
			}
		}
	}
	for _, file := range c.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				if lit, ok := ast.Unparen(n.Call.Fun).(*ast.FuncLit); ok {
					c.litLevels[lit] = Passive
				}
			case *ast.CallExpr:
				if lit, ok := ast.Unparen(n.Fun).(*ast.FuncLit); ok {
					_, started := c.litLevels[lit]
					c.inline[lit] = !started
				}
			case *ast.AssignStmt:
				for i, lhs := range n.Lhs {
					set(lhs, pair(n.Rhs, len(n.Lhs), i))
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if v, ok := c.pass.TypesInfo.Defs[name].(*types.Var); ok && len(n.Values) == 0 {
						declared[v] = true
						continue
					}
					set(name, pair(n.Values, len(n.Names), i))
				}
			case *ast.RangeStmt:
				for _, e := range []ast.Expr{n.Key, n.Value} {
					if e != nil {
						set(e, nil)
					}
				}
			case *ast.SelectorExpr:
				if sel := c.pass.TypesInfo.Selections[n]; sel != nil && sel.Kind() == types.MethodVal && isPointer(sel.Obj().(*types.Func).Signature().Recv().Type()) {
					set(n.X, nil) // and so may a method that gets it
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					set(n.X, nil) // whoever has the address may put another one in
				}
			}
			return true
		})
	}
	for v, n := range assigned {
		if n != 1 || !declared[v] {
			delete(c.closures, v)
			delete(c.aliases, v)
		}
	}
}

// pair returns what the i-th of n variables is assigned, or nil when a call gives them all.
func pair(values []ast.Expr, n, i int) ast.Expr {
	if len(values) == n {
		return ast.Unparen(values[i])
	}
	return nil
}
