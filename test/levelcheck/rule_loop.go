package levelcheck

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/cfg"
)

// checkLoops refuses loops of which nobody sees the end: a range ends with what it ranges over, any other loop must on
// every way round step something that its end depends on. A goto that leads back is a loop too, and a cycle of calls.
func (b *body) checkLoops() {
	for _, block := range b.blocks() {
		loops := make(map[*ast.ForStmt]bool)
		ast.Inspect(block, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false // one that is called where it stands has its own turn, others are functions of their own
			case *ast.ForStmt:
				loops[n] = true
			case *ast.BranchStmt:
				if label := b.pass.TypesInfo.ObjectOf(n.Label); n.Tok == token.GOTO && label != nil && label.Pos() < n.Pos() {
					b.find(ruleLoop, n.Pos(), "goes back to %s, which is a loop: write it as one", n.Label.Name)
				}
			}
			return true
		})
		if len(loops) == 0 {
			continue
		}
		graph := cfg.New(block, b.mayReturn)
		for stmt := range loops {
			l := newLoop(b, graph, stmt)
			if l.head != nil && l.head.Live && !l.ends() {
				b.findAt(ruleLoop, stmt.Pos(), l.executed(), "loops, and not every way round steps what its end depends on: range, count, or take all there is first")
			}
		}
	}
}

// blocks are the body of the function and those of the literals that are called where they stand.
func (b *body) blocks() []*ast.BlockStmt {
	all := []*ast.BlockStmt{b.node.body}
	ast.Inspect(b.node.body, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if ok && b.inline[lit] {
			all = append(all, lit.Body)
		}
		return !ok || b.inline[lit]
	})
	return all
}

// loop is the part of a control flow that can lead back to the head of a for statement.
type loop struct {
	*body
	stmt *ast.ForStmt
	head *cfg.Block
	in   map[*cfg.Block]bool
	tags map[ast.Expr][]ast.Expr // what the cases of a switch in it are compared with
}

func newLoop(b *body, graph *cfg.CFG, stmt *ast.ForStmt) *loop {
	l := &loop{body: b, stmt: stmt, in: make(map[*cfg.Block]bool), tags: make(map[ast.Expr][]ast.Expr)}
	head := cfg.KindForLoop
	if stmt.Cond == nil {
		head = cfg.KindForBody
	}
	for _, block := range graph.Blocks {
		if block.Stmt == stmt && block.Kind == head {
			l.head = block
		}
	}
	for changed := true; changed; {
		changed = false
		for _, block := range graph.Blocks {
			if l.in[block] || !l.within(block) {
				continue
			}
			for _, next := range block.Succs {
				if next == l.head || l.in[next] {
					l.in[block], changed = true, true
				}
			}
		}
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		if s, ok := n.(*ast.SwitchStmt); ok && s.Tag != nil {
			for _, clause := range s.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					l.tags[e] = []ast.Expr{s.Tag}
				}
			}
		}
		return true
	})
	return l
}

// within reports whether a block belongs to the statement.
func (l *loop) within(block *cfg.Block) bool {
	s := block.Stmt
	if s == nil || !block.Live || s == l.stmt && block.Kind == cfg.KindForDone {
		return false
	}
	return l.stmt.Pos() <= s.Pos() && s.End() <= l.stmt.End()
}

// executed is where something stands that belongs to a block of the control flow.
func (l *loop) executed() token.Pos {
	for _, n := range l.head.Nodes {
		return n.Pos()
	}
	return l.stmt.Pos()
}

// ends reports whether every way round passes something that brings the end nearer.
func (l *loop) ends() bool {
	p := newProgress(l.body, l.stmt)
	for block := range l.in {
		if n := len(block.Nodes); len(block.Succs) == 2 && n > 0 && (!l.in[block.Succs[0]] || !l.in[block.Succs[1]]) {
			if e, ok := block.Nodes[n-1].(ast.Expr); ok {
				p.endsBy(e, l.tags[e]...)
			}
		}
	}
	return !l.around(l.head, p, make(map[*cfg.Block]bool))
}

// around reports whether there is a way from a block to the head on which nothing is stepped.
func (l *loop) around(block *cfg.Block, p *progress, seen map[*cfg.Block]bool) bool {
	for _, n := range block.Nodes {
		if p.steps(n) {
			return false
		}
	}
	for _, next := range block.Succs {
		if next == l.head {
			return true
		}
		if l.in[next] && !seen[next] {
			seen[next] = true
			if l.around(next, p, seen) {
				return true
			}
		}
	}
	return false
}

// checkCycles refuses calls that lead back to who calls: nobody sees how deep that goes.
func (c *checker) checkCycles() {
	for _, n := range c.nodes {
		b := &body{checker: c, node: n}
		for _, e := range n.static {
			if e.callee.leadsTo(n, make(map[*node]bool)) {
				b.find(ruleLoop, e.pos, "calls %s, which leads back here, and nobody sees how deep: write a loop", e.callee.name)
			}
		}
	}
}

func (n *node) leadsTo(to *node, seen map[*node]bool) bool {
	if n == to {
		return true
	}
	if seen[n] {
		return false
	}
	seen[n] = true
	for _, e := range n.static {
		if e.callee.leadsTo(to, seen) {
			return true
		}
	}
	return false
}
