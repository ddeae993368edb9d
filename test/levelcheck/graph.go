package levelcheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
)

// A node is a function with a body: a declaration, or a literal that is not called where it stands.
type node struct {
	name  string
	level Level
	pos   token.Pos
	sig   *types.Signature
	body  *ast.BlockStmt
	fn    *types.Func  // nil for a literal
	lit   *ast.FuncLit // nil for a declaration
	root  ast.Node     // the declaration or literal
	from  token.Pos    // where what belongs to it starts

	findings []finding // what Dispatch does not allow, in the order of the source
	edges    []edge
	static   []edge  // all calls of functions of this package, whatever their level
	region   *region // where a function below Dispatch has raised; nil if nowhere
	blocks   string  // why a computing function must not be called at Dispatch; "" if it may
	allocs   allocs
	steps    []string // fields of the receiver that it steps, as ".field"; nil: not looked for
}

// A finding breaks a rule if its function is at Dispatch.
type finding struct {
	pos    token.Pos
	rule   string
	text   string
	raised bool // stands between Raise and Lower
}

// An edge is a call of a computing function of the same package: whether it is a finding is known only when that
// one's body has been looked at.
type edge struct {
	pos    token.Pos
	callee *node
	exempt *Exemption
	raised bool
}

func base(file string) string { return filepath.Base(file) }

// findNodes lists the package's functions and literals in source order.
func (c *checker) findNodes() {
	for _, file := range c.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				c.addDecl(n)
			case *ast.FuncLit:
				c.addLit(n)
			}
			return true
		})
	}
}

func (c *checker) addDecl(decl *ast.FuncDecl) {
	fn, ok := c.pass.TypesInfo.Defs[decl.Name].(*types.Func)
	if ok && decl.Body == nil && c.levelOf(fn) == Dispatch {
		c.report(decl.Name.Pos(), ruleMark, "%s has no body here, so that nobody can tell whether it keeps to its level", fn.Name())
	}
	if !ok || decl.Body == nil || isCgo(fn.Name()) {
		return
	}
	n := &node{name: c.funcName(fn), level: c.levelOf(fn), pos: decl.Name.Pos(), sig: fn.Signature(), body: decl.Body, fn: fn, root: decl, from: decl.Pos()}
	if fn.Name() == "init" && fn.Signature().Recv() == nil {
		n.level = Passive
	}
	c.nodes = append(c.nodes, n)
	c.byFunc[fn] = n
}

func (c *checker) addLit(lit *ast.FuncLit) {
	if c.inline[lit] {
		return
	}
	sig := funcSignature(c.pass.TypesInfo.TypeOf(lit))
	if sig == nil {
		return
	}
	level, bound := c.litLevels[lit]
	if !bound {
		level = ofSignature(sig)
	}
	n := &node{name: "the function literal at " + c.at(lit.Pos()), level: level, pos: lit.Pos(), sig: sig, body: lit.Body, lit: lit, root: lit, from: lit.Pos() + 1}
	c.nodes = append(c.nodes, n)
	c.byLit[lit] = n
}

// propagate finds the computing functions that block because of what they call, until nothing changes.
func (c *checker) propagate() {
	for _, n := range c.nodes {
		slices.SortStableFunc(n.findings, func(a, b finding) int { return int(a.pos - b.pos) })
		if n.level == Computing && len(n.findings) > 0 {
			n.blocks = c.at(n.findings[0].pos) + ": " + n.findings[0].text
		}
	}
	for changed := true; changed; {
		changed = false
		for _, n := range c.nodes {
			if n.level != Computing || n.blocks != "" {
				continue
			}
			for _, e := range n.edges {
				if e.callee.blocks != "" && e.exempt == nil {
					n.blocks = c.at(e.pos) + ": calls " + e.callee.name + "; " + e.callee.blocks
					changed = true
					break
				}
			}
		}
	}
}

// reportNodes tells what stands in functions at Dispatch, and between Raise and Lower in others.
func (c *checker) reportNodes() {
	for _, n := range c.nodes {
		for _, f := range n.findings {
			if n.level == Dispatch || f.raised {
				c.report(f.pos, f.rule, "at Dispatch: %s", f.text)
			}
		}
		for _, e := range n.edges {
			switch {
			case e.callee.blocks == "":
			case e.exempt != nil:
				e.exempt.used = true
			case n.level == Dispatch || e.raised:
				c.report(e.pos, ruleBlocks, "at Dispatch: calls %s, which blocks (%s)", e.callee.name, e.callee.blocks)
			}
		}
		if n.region != nil {
			c.reportMisuse(n)
		}
		if n.level != Dispatch {
			c.checkFrames(n)
		}
	}
}

func (c *checker) exportFacts() {
	for _, n := range c.nodes {
		if n.fn != nil && n.blocks != "" {
			c.pass.ExportObjectFact(n.fn, &Blocks{Reason: n.blocks})
		}
		// What breaks another rule is told of, or not called, because of that.
		if n.fn != nil && n.allocs.reason != "" && n.blocks == "" && len(n.findings) == 0 {
			c.pass.ExportObjectFact(n.fn, &Allocates{Reason: n.allocs.reason})
		}
	}
}
