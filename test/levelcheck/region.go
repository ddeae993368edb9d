package levelcheck

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/cfg"
	"golang.org/x/tools/go/types/typeutil"
)

// A region is where a function that came without a frame runs at Dispatch: what lies between Raise and Lower. Both stand
// in the same function, so that this is seen.
type region struct {
	spans  []span
	wrong  []misuse // of Raise and Lower
	frames []string // the frames that are raised, as they are written
}

type span struct{ from, to token.Pos }

type misuse struct {
	pos  token.Pos
	text string
}

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

func (r *region) refuse(pos token.Pos, text string) { r.wrong = append(r.wrong, misuse{pos, text}) }

// height says on which of the ways that lead to a point the frame is raised.
type height uint8

const (
	unreached height = 0
	lowered   height = 1
	raised    height = 2
	mixed            = lowered | raised
)

// raised finds the region of a function that calls Raise or Lower, and nil for others. It follows the control flow: a
// statement belongs to the region when the frame is raised on any way that leads to it, and it must be so on all.
func (c *checker) raised(n *node) *region {
	r := &region{}
	c.misplaced(n, r)
	if !c.has(n.body, isTransition) && len(r.wrong) == 0 && !c.defersLower(n.body) {
		return nil
	}
	graph := cfg.New(n.body, c.mayReturn)
	entry, meets := c.solve(graph)
	deferred := c.defersLower(n.body)
	ever := false
	for _, block := range graph.Blocks {
		at := entry[block]
		if !block.Live || at == unreached {
			continue
		}
		if at == mixed && len(block.Nodes) > 0 && meets[block] {
			r.refuse(block.Nodes[0].Pos(), "the frame is raised on some ways that lead here, and not on others")
		}
		for _, stmt := range block.Nodes {
			if ret, ok := stmt.(*ast.ReturnStmt); ok && at&raised != 0 && !deferred {
				r.refuse(ret.Pos(), "returns with the frame raised: call Lower first, in the function that called Raise")
			}
			if at&raised != 0 {
				r.spans = append(r.spans, span{stmt.Pos(), stmt.End()})
			}
			c.transitions(stmt, at, r)
			at = c.after(stmt, at)
			ever = ever || at&raised != 0
		}
	}
	if deferred && !ever {
		r.refuse(n.body.Pos(), "defers Lower, and does not call Raise")
	}
	ast.Inspect(n.body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectStmt); ok && len(s.Body.List) == 0 && ever {
			r.spans = append(r.spans, span{s.Pos(), s.End()}) // in no block, since nothing comes of it
		}
		return true
	})
	return r
}

// transitions checks the calls of Raise and Lower in a statement.
func (c *checker) transitions(stmt ast.Node, at height, r *region) {
	if _, deferred := stmt.(*ast.DeferStmt); deferred {
		return
	}
	c.each(stmt, func(call *ast.CallExpr, fn *types.Func) {
		switch {
		case isRaise(fn) && len(call.Args) == 1:
			r.frames = append(r.frames, frameName(call.Args[0]))
		case isLower(fn) && at&raised == 0:
			r.refuse(call.Pos(), "lowers a frame that this function did not raise")
		}
	})
}

// frameName is how a frame is written, without what takes its address.
func frameName(e ast.Expr) string {
	e = ast.Unparen(e)
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		e = ast.Unparen(u.X)
	}
	return types.ExprString(e)
}

// misplaced refuses Raise and Lower where the control flow does not show them: as values, and in literals that are
// called where they stand, but for Lower in a deferred one.
func (c *checker) misplaced(n *node, r *region) {
	var stack []ast.Node
	ast.Inspect(n.body, func(m ast.Node) bool {
		if m == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if lit, ok := m.(*ast.FuncLit); ok && !c.inline[lit] {
			return false
		}
		stack = append(stack, m)
		sel, ok := m.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		fn := c.function(sel)
		if !isTransition(fn) {
			return true
		}
		called, inner, deferred := false, false, false
		for i, outer := range stack {
			switch outer := outer.(type) {
			case *ast.CallExpr:
				called = called || ast.Unparen(outer.Fun) == sel
			case *ast.FuncLit:
				inner = true
				_, deferred = stack[max(0, i-2)].(*ast.DeferStmt)
			case *ast.DeferStmt:
				if isRaise(fn) {
					r.refuse(sel.Pos(), "defers Raise")
				}
			}
		}
		switch {
		case !called:
			r.refuse(sel.Pos(), "takes "+c.funcName(fn)+" as a value: who raises and who lowers is then not seen")
		case inner && !(deferred && isLower(fn)):
			r.refuse(sel.Pos(), "calls "+c.funcName(fn)+" in a function literal: call it in the function around it")
		}
		return true
	})
}

// solve computes for each block on which of the ways that lead to its start the frame is raised, and where ways meet on
// which it is and is not.
func (c *checker) solve(graph *cfg.CFG) (entry map[*cfg.Block]height, meets map[*cfg.Block]bool) {
	entry, meets = map[*cfg.Block]height{graph.Blocks[0]: lowered}, make(map[*cfg.Block]bool)
	for changed := true; changed; {
		changed = false
		for _, block := range graph.Blocks {
			at := entry[block]
			if at == unreached {
				continue
			}
			for _, stmt := range block.Nodes {
				at = c.after(stmt, at)
			}
			for _, next := range block.Succs {
				if entry[next]|at != entry[next] {
					entry[next] |= at
					changed = true
				}
				meets[next] = meets[next] || entry[next] == mixed && at != mixed
			}
		}
	}
	return entry, meets
}

// after tells on which ways the frame is raised after a statement.
func (c *checker) after(stmt ast.Node, at height) height {
	if _, deferred := stmt.(*ast.DeferStmt); deferred {
		return at
	}
	switch {
	case c.has(stmt, isLower):
		return lowered
	case c.has(stmt, isRaise):
		return raised
	}
	return at
}

// each calls fn for the calls in n, outside the literals in it.
func (c *checker) each(n ast.Node, fn func(call *ast.CallExpr, callee *types.Func)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			callee, _ := typeutil.Callee(c.pass.TypesInfo, n).(*types.Func)
			fn(n, callee)
		}
		return true
	})
}

// has reports whether n calls a function, outside the literals in it.
func (c *checker) has(n ast.Node, is func(*types.Func) bool) bool {
	found := false
	c.each(n, func(_ *ast.CallExpr, callee *types.Func) { found = found || is(callee) })
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
