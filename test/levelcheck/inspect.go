package levelcheck

import (
	"fmt"
	"go/ast"
	"go/token"
)

// body is the walk over one function. Rules tell it what they find.
type body struct {
	*checker
	node    *node
	polled  map[ast.Node]bool      // channel operations that a select decides on
	started map[*ast.CallExpr]bool // calls that go statements make, on a goroutine of their own
}

// inspect looks at a function's statements. A Passive function is free except between Raise and Lower.
func (c *checker) inspect(n *node) {
	if n.level != Dispatch {
		n.region = c.raised(n)
		if n.level == Passive && n.region == nil {
			return
		}
	}
	b := &body{checker: c, node: n, polled: make(map[ast.Node]bool), started: make(map[*ast.CallExpr]bool)}
	ast.Inspect(n.body, b.visit)
	b.checkLoops()
}

func (b *body) visit(n ast.Node) bool {
	switch n := n.(type) {
	case nil:
		return false
	case *ast.FuncLit:
		b.capturesFrame(n)
		return b.inline[n] // others are functions of their own
	case *ast.GoStmt:
		b.started[n.Call] = true
	case *ast.CallExpr:
		t := b.resolve(n)
		if t.builtin == "panic" {
			return false // a broken invariant ends the program: the text may cost what it likes
		}
		if !b.started[n] {
			b.call(n, t)
		}
	}
	for _, r := range b.rules {
		if r.visit != nil {
			r.visit(b, n)
		}
	}
	return true
}

func (b *body) call(call *ast.CallExpr, t target) {
	if callee := b.callee(t); callee != nil {
		b.node.static = append(b.node.static, edge{pos: call.Pos(), callee: callee})
	}
	for _, r := range b.rules {
		if r.call != nil && r.call(b, call, t) {
			return
		}
	}
}

// callee returns the function of this package that a call is known to be of, or nil.
func (b *body) callee(t target) *node {
	if t.lit != nil {
		return b.byLit[t.lit]
	}
	return b.byFunc[t.fn]
}

// find records that a rule is broken at pos.
func (b *body) find(rule string, pos token.Pos, format string, args ...any) {
	b.findAt(rule, pos, pos, format, args...)
}

// findAt is find for a statement that is executed where another position stands.
func (b *body) findAt(rule string, pos, executed token.Pos, format string, args ...any) {
	raised := b.node.region.contains(executed)
	if b.node.level == Passive && !raised {
		return
	}
	if e := b.exempt(pos, rule); e != nil {
		e.used = true
		return
	}
	b.node.findings = append(b.node.findings, finding{pos: pos, rule: rule, text: fmt.Sprintf(format, args...), raised: raised})
}

// calls records a call of a computing function of this package.
func (b *body) calls(pos token.Pos, callee *node) {
	raised := b.node.region.contains(pos)
	if b.node.level == Passive && !raised {
		return
	}
	b.node.edges = append(b.node.edges, edge{pos: pos, callee: callee, exempt: b.exempt(pos, ruleBlocks), raised: raised})
}
