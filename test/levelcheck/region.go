package levelcheck

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/cfg"
	"golang.org/x/tools/go/types/typeutil"
)

// A region is where a function that came without a frame runs at Dispatch: what lies between Raise and Lower on every
// way that leads there.
type region struct {
	spans []span
	exits []token.Pos // returns with the frame raised
}

type span struct{ from, to token.Pos }

func (r *region) contains(pos token.Pos) bool {
	if r == nil {
		return false
	}
	for _, s := range r.spans {
		if s.from <= pos && pos < s.to {
			return true
		}
	}
	return false
}

// raised finds the region of a function that calls Raise, and nil for others. It follows the control flow: a statement
// belongs to the region when the frame is raised on all ways that lead to it.
func (c *checker) raised(n *node) *region {
	if !c.has(n.body, isRaise) {
		return nil
	}
	graph := cfg.New(n.body, c.mayReturn)
	entry := c.solve(graph)

	r := &region{}
	deferred := c.defersLower(n.body)
	for _, block := range graph.Blocks {
		if !block.Live {
			continue
		}
		raised := entry[block]
		for _, stmt := range block.Nodes {
			if ret, ok := stmt.(*ast.ReturnStmt); ok && raised && !deferred {
				r.exits = append(r.exits, ret.Pos())
			}
			if raised {
				r.spans = append(r.spans, span{stmt.Pos(), stmt.End()})
			}
			raised = c.after(stmt, raised)
		}
	}
	return r
}

// solve computes for each block whether the frame is raised at its start on all ways.
func (c *checker) solve(graph *cfg.CFG) map[*cfg.Block]bool {
	entry := make(map[*cfg.Block]bool)
	for _, block := range graph.Blocks[1:] {
		entry[block] = true // until a way is found on which it is not
	}
	for changed := true; changed; {
		changed = false
		for _, block := range graph.Blocks {
			if !block.Live {
				continue
			}
			raised := entry[block]
			for _, stmt := range block.Nodes {
				raised = c.after(stmt, raised)
			}
			for _, next := range block.Succs {
				if entry[next] && !raised {
					entry[next], changed = false, true
				}
			}
		}
	}
	return entry
}

// after tells whether the frame is raised after a statement.
func (c *checker) after(stmt ast.Node, raised bool) bool {
	if _, deferred := stmt.(*ast.DeferStmt); deferred {
		return raised
	}
	switch {
	case c.has(stmt, isLower):
		return false
	case c.has(stmt, isRaise):
		return true
	}
	return raised
}

// has reports whether n calls a function, outside the literals in it.
func (c *checker) has(n ast.Node, is func(*types.Func) bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			fn, _ := typeutil.Callee(c.pass.TypesInfo, n).(*types.Func)
			found = found || is(fn)
		}
		return !found
	})
	return found
}

func (c *checker) defersLower(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if stmt, ok := n.(*ast.DeferStmt); ok {
			ast.Inspect(stmt, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					fn, _ := typeutil.Callee(c.pass.TypesInfo, call).(*types.Func)
					found = found || isLower(fn)
				}
				return true
			})
		}
		_, lit := n.(*ast.FuncLit)
		return !lit
	})
	return found
}

// mayReturn is false for calls that end the goroutine.
func (c *checker) mayReturn(call *ast.CallExpr) bool {
	switch fn := typeutil.Callee(c.pass.TypesInfo, call).(type) {
	case *types.Builtin:
		return fn.Name() != "panic"
	case *types.Func:
		switch fullName(fn) {
		case "os.Exit", "log.Fatal", "log.Fatalf", "runtime.Goexit":
			return false
		}
	}
	return true
}
