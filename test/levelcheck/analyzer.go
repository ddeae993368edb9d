package levelcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// New makes the analyzer that checks one package after those it imports. Its result is a *Result. heap is what the
// compiler reports of the packages; without it, the rule noalloc is not checked.
func New(heap *Heap) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       "levelcheck",
		Doc:        "hold functions at Dispatch to what Dispatch allows: no waiting, no unknown calls, no allocation",
		Run:        func(pass *analysis.Pass) (any, error) { return run(pass, heap) },
		ResultType: resultType,
		FactTypes:  []analysis.Fact{new(Mark), new(Blocks), new(Allocates)},
	}
}

// Result is what there is to tell about a package beside its diagnostics.
type Result struct {
	Dispatch   int         // functions and function literals checked as Dispatch
	Raised     int         // Passive functions checked between Raise and Lower
	NoAlloc    int         // functions and function literals marked as of the data path
	Exemptions []Exemption // by position
}

// checker is the work on one package. The stages in run fill its fields in order.
type checker struct {
	pass       *analysis.Pass
	heap       *Heap
	rules      []rule
	exemptions map[line][]*Exemption
	reported   map[string]bool

	closures    map[*types.Var]*ast.FuncLit // local variables that only ever hold this literal
	aliases     map[*types.Var]ast.Expr     // local variables that only ever hold the address of this
	inline      map[*ast.FuncLit]bool       // called where they stand: part of the function around them
	litLevels   map[*ast.FuncLit]Level      // said by where the literal goes
	noallocLits map[*ast.FuncLit]bool       // go to what stands on the data path
	conversions []conversion

	nodes  []*node
	byFunc map[*types.Func]*node
	byLit  map[*ast.FuncLit]*node
}

func run(pass *analysis.Pass, heap *Heap) (any, error) {
	if !isOurs(pass.Pkg) {
		return &Result{}, nil
	}
	c := &checker{
		pass:        pass,
		heap:        heap,
		rules:       allRules(),
		exemptions:  make(map[line][]*Exemption),
		reported:    make(map[string]bool),
		closures:    make(map[*types.Var]*ast.FuncLit),
		aliases:     make(map[*types.Var]ast.Expr),
		inline:      make(map[*ast.FuncLit]bool),
		litLevels:   make(map[*ast.FuncLit]Level),
		noallocLits: make(map[*ast.FuncLit]bool),
		byFunc:      make(map[*types.Func]*node),
		byLit:       make(map[*ast.FuncLit]*node),
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
	c.checkCycles()
	c.propagate()
	c.findAllocs()

	c.reportNodes()
	c.reportAllocs()
	c.exportFacts()
	c.checkConversions()
	c.reportReached()
	c.reportUnused()
	return c.result(), nil
}

func (c *checker) result() *Result {
	r := &Result{}
	for _, n := range c.nodes {
		if n.allocs.marked {
			r.NoAlloc++
		}
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
