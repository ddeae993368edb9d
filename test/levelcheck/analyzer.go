package levelcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Analyzer checks one package after those it imports. Its result is a *Result.
var Analyzer = &analysis.Analyzer{
	Name:       "levelcheck",
	Doc:        "hold functions at Dispatch to what Dispatch allows: no waiting, no unknown calls",
	Run:        run,
	ResultType: resultType,
	FactTypes:  []analysis.Fact{new(Mark), new(Blocks)},
}

// Result is what there is to tell about a package beside its diagnostics.
type Result struct {
	Dispatch   int         // functions and function literals checked as Dispatch
	Raised     int         // Passive functions checked between Raise and Lower
	Exemptions []Exemption // by position
}

// checker is the work on one package. The stages in run fill its fields in order.
type checker struct {
	pass       *analysis.Pass
	rules      []rule
	exemptions map[line][]*Exemption
	reported   map[string]bool

	closures    map[*types.Var]*ast.FuncLit // local variables that only ever hold this literal
	inline      map[*ast.FuncLit]bool       // called where they stand: part of the function around them
	litLevels   map[*ast.FuncLit]Level      // said by where the literal goes
	conversions []conversion

	nodes  []*node
	byFunc map[*types.Func]*node
	byLit  map[*ast.FuncLit]*node
}

func run(pass *analysis.Pass) (any, error) {
	if !isOurs(pass.Pkg) {
		return &Result{}, nil
	}
	c := &checker{
		pass:       pass,
		rules:      allRules(),
		exemptions: make(map[line][]*Exemption),
		reported:   make(map[string]bool),
		closures:   make(map[*types.Var]*ast.FuncLit),
		inline:     make(map[*ast.FuncLit]bool),
		litLevels:  make(map[*ast.FuncLit]Level),
		byFunc:     make(map[*types.Func]*node),
		byLit:      make(map[*ast.FuncLit]*node),
	}
	c.readMarks()
	c.readExemptions()
	c.checkSignatures()

	c.findClosures()
	c.findConversions()
	c.bindLiterals()

	c.findNodes()
	for _, n := range c.nodes {
		c.inspect(n)
	}
	c.propagate()

	c.reportNodes()
	c.exportFacts()
	c.checkConversions()
	c.reportUnused()
	return c.result(), nil
}

func (c *checker) result() *Result {
	r := &Result{}
	for _, n := range c.nodes {
		if n.level == Dispatch {
			r.Dispatch++
		} else if n.region != nil {
			r.Raised++
		}
	}
	for _, list := range c.exemptions {
		for _, e := range list {
			r.Exemptions = append(r.Exemptions, *e)
		}
	}
	slices.SortFunc(r.Exemptions, func(a, b Exemption) int { return int(a.pos - b.pos) })
	return r
}

// report says a thing once, however many ways lead to it.
func (c *checker) report(pos token.Pos, rule, format string, args ...any) {
	message := "[" + rule + "] " + fmt.Sprintf(format, args...)
	key := fmt.Sprint(pos, message)
	if c.reported[key] {
		return
	}
	c.reported[key] = true
	c.pass.Report(analysis.Diagnostic{Pos: pos, Category: rule, Message: message})
}

// at gives a position as "file.go:12", for the text of a reason.
func (c *checker) at(pos token.Pos) string {
	p := c.pass.Fset.Position(pos)
	return fmt.Sprintf("%s:%d", base(p.Filename), p.Line)
}
