package levelcheck

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// An Exemption is a //level:allow line: one rule does not hold for the statement on the next line.
type Exemption struct {
	Pos      token.Position
	Rule     string
	Reason   string
	Function string // where it stands

	pos  token.Pos
	used bool
}

const allowDirective = directive + "allow"

var allowForm = regexp.MustCompile(`^//level:allow ([a-z]+): *(.*)$`)

// neverExempt are the functions of the data path in which no exemption stands.
var neverExempt = map[string]bool{
	"StartIO": true, "BuildIO": true, "Post": true, "Poll": true, "handleRSP": true,
}

// line identifies a line of a file.
type line struct {
	file string
	no   int
}

// readExemptions collects the //level:allow lines by the line that they free, and reports those that are badly
// formed or badly placed.
func (c *checker) readExemptions() {
	for _, file := range c.pass.Files {
		code := codeLines(c.pass.Fset, file)
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if strings.HasPrefix(comment.Text, allowDirective) {
					c.readExemption(file, group, comment, code)
				}
			}
		}
	}
}

func (c *checker) readExemption(file *ast.File, group *ast.CommentGroup, comment *ast.Comment, code map[int]bool) {
	form := allowForm.FindStringSubmatch(directiveText(comment))
	if form == nil {
		c.report(comment.Pos(), ruleAllow, "an exemption reads: //level:allow RULE: reason")
		return
	}
	pos := c.pass.Fset.Position(comment.Pos())
	e := &Exemption{Pos: pos, Rule: form[1], Reason: strings.TrimSpace(form[2]), Function: enclosing(file, comment.Pos()), pos: comment.Pos()}
	switch {
	case !exemptible(e.Rule):
		c.report(comment.Pos(), ruleAllow, "no rule is called %q: %s", e.Rule, strings.Join(ruleNames(), ", "))
	case e.Reason == "":
		c.report(comment.Pos(), ruleAllow, "the exemption gives no reason")
	case code[pos.Line]:
		c.report(comment.Pos(), ruleAllow, "the exemption stands behind code: put it on its own line, before the statement")
	case neverExempt[e.Function]:
		c.report(comment.Pos(), ruleAllow, "%s is the data path, where no exemption stands", e.Function)
	default:
		at := line{pos.Filename, c.pass.Fset.Position(group.End()).Line + 1}
		c.exemptions[at] = append(c.exemptions[at], e)
	}
}

// codeLines returns the lines of a file on which a token of code ends or starts.
func codeLines(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := make(map[int]bool)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup, *ast.File:
			return n != nil
		}
		lines[fset.Position(n.Pos()).Line] = true
		lines[fset.Position(n.End()-1).Line] = true
		return true
	})
	return lines
}

// enclosing names the function declaration around pos.
func enclosing(file *ast.File, pos token.Pos) string {
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Pos() <= pos && pos < fn.End() {
			return fn.Name.Name
		}
	}
	return ""
}

// exempt returns the exemption from a rule at pos, or nil.
func (c *checker) exempt(pos token.Pos, rule string) *Exemption {
	at := c.pass.Fset.Position(pos)
	for _, e := range c.exemptions[line{at.Filename, at.Line}] {
		if e.Rule == rule {
			return e
		}
	}
	return nil
}

// reportReached refuses exemptions in what the functions of the data path call in their own package: they are part of it.
func (c *checker) reportReached() {
	from := make(map[*node]string)
	var visit func(n *node, name string)
	visit = func(n *node, name string) {
		if from[n] != "" {
			return
		}
		from[n] = name
		for _, e := range n.static {
			visit(e.callee, name)
		}
	}
	for _, n := range c.nodes {
		if n.fn != nil && neverExempt[n.fn.Name()] {
			visit(n, n.fn.Name())
		}
	}
	for _, list := range c.exemptions {
		for _, e := range list {
			for n, name := range from {
				if n.root.Pos() <= e.pos && e.pos < n.root.End() && !IsTestSupport(c.pass.Pkg.Path()) {
					c.report(e.pos, ruleAllow, "%s is called by %s, which is the data path, where no exemption stands", n.name, name)
				}
			}
		}
	}
}

func (c *checker) reportUnused() {
	for _, list := range c.exemptions {
		for _, e := range list {
			if !e.used {
				c.report(e.pos, ruleAllow, "the exemption from %s is not needed: nothing on the next line breaks that rule", e.Rule)
			}
		}
	}
}
