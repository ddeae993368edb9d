package levelcheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// callRaise holds the two doors of Dispatch. Who has a frame is there already, and only who raised it lowers it.
func callRaise(b *body, call *ast.CallExpr, t target) bool {
	switch {
	case isRaise(t.fn):
		b.find(ruleRaise, call.Pos(), "raises although it has a frame already: hand on the one that there is")
	case isLower(t.fn):
		if b.node.level == Dispatch {
			b.find(ruleRaise, call.Pos(), "lowers a frame that its caller raised")
		}
	default:
		return false
	}
	return true
}

// visitRaise refuses to keep a frame beyond the call that it came with.
func visitRaise(b *body, n ast.Node) {
	info := b.pass.TypesInfo
	keeps := func(e ast.Expr) {
		if t := info.TypeOf(e); t != nil && isFrame(t) {
			b.find(ruleRaise, e.Pos(), "keeps a frame, which is gone when it is lowered: hand it on, or queue a DPC")
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			v := b.variable(lhs)
			if rhs := pair(n.Rhs, len(n.Lhs), i); rhs != nil && (v == nil && !isBlank(lhs) || v != nil && (v.IsField() || v.Parent() == v.Pkg().Scope())) {
				keeps(rhs)
			}
		}
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			keeps(e)
		}
	case *ast.SendStmt:
		keeps(n.Value)
	}
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// capturesFrame refuses to use somebody else's frame in a literal that has one itself.
func (b *body) capturesFrame(lit *ast.FuncLit) {
	sig := funcSignature(b.pass.TypesInfo.TypeOf(lit))
	if sig == nil || ofSignature(sig) != Dispatch {
		return
	}
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			v, ok := b.pass.TypesInfo.Uses[id].(*types.Var)
			if ok && !v.IsField() && isFrame(v.Type()) && (v.Pos() < lit.Pos() || v.Pos() >= lit.End()) {
				b.find(ruleRaise, id.Pos(), "uses a frame of the function around it, which is gone when this runs: it has its own")
			}
		}
		return true
	})
}

// reportMisuse tells where a function that came without a frame raises, lowers or hands on one wrongly.
func (c *checker) reportMisuse(n *node) {
	for _, m := range n.region.wrong {
		c.reportRaise(m.pos, m.text)
	}
}

func (c *checker) reportRaise(pos token.Pos, text string) {
	if e := c.exempt(pos, ruleRaise); e != nil {
		e.used = true
		return
	}
	c.report(pos, ruleRaise, "%s", text)
}

// checkFrames refuses to hand on a frame that is not raised: what is called would believe to be at Dispatch. It is
// about functions that came without one.
func (c *checker) checkFrames(n *node) {
	if c.pass.Pkg.Path() == dispatchPath {
		return // makes them
	}
	for i := range n.sig.Params().Len() {
		if isFrame(n.sig.Params().At(i).Type()) {
			return
		}
	}
	ast.Inspect(n.body, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.FuncLit:
			return c.inline[m]
		case *ast.CallExpr:
			fn := c.resolve(m).fn
			if isTransition(fn) {
				return true
			}
			for _, arg := range m.Args {
				if t := c.pass.TypesInfo.TypeOf(arg); t == nil || !isFrame(t) {
					continue
				}
				switch {
				case n.region.contains(m.Pos()) && !n.region.raises(arg):
					c.reportRaise(arg.Pos(), "hands on a frame that is not the one raised here")
				case !n.region.contains(m.Pos()):
					c.reportRaise(arg.Pos(), "hands on a frame that is not raised here")
				}
			}
		}
		return true
	})
}

// raises reports whether a frame is one that is raised in the region, as it is written.
func (r *region) raises(frame ast.Expr) bool {
	return len(r.frames) == 0 || slices.Contains(r.frames, frameName(frame))
}
