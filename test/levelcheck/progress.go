package levelcheck

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// progress is what brings the end of a loop nearer, one of three:
//
//   - a step: a place that the end depends on gets a value that depends on the one before (i++, b = b[n:], p = p.next), or
//     something is taken from a local variable, which nobody else adds to;
//   - a look at the frame's clock, on which the end depends;
//   - an atomic operation on what was read in the same round, on which the end depends: it fails only when somebody
//     else's has succeeded.
type progress struct {
	*body
	needs   map[string][]string // of each place that the loop assigns, what its new value depends on
	read    map[string]bool     // places that get what an atomic operation returns
	grows   map[string]bool     // places to which the loop adds
	ends    map[string]bool     // places on which the end depends
	decides map[ast.Node]bool   // conditions that can end the loop
}

func newProgress(b *body, stmt *ast.ForStmt) *progress {
	p := &progress{body: b, needs: make(map[string][]string), read: make(map[string]bool), grows: make(map[string]bool), ends: make(map[string]bool), decides: make(map[ast.Node]bool)}
	p.learn(stmt.Body)
	if stmt.Cond != nil {
		p.learn(stmt.Cond)
	}
	if stmt.Post != nil {
		p.learn(stmt.Post)
	}
	return p
}

// learn notes what is assigned in n, and from what.
func (p *progress) learn(n ast.Node) {
	p.each(n, func(at string, from []ast.Expr, again bool) {
		p.needs[at] = append(p.needs[at], "")
		if again {
			p.needs[at] = append(p.needs[at], at)
		}
		for _, e := range from {
			p.needs[at] = append(p.needs[at], p.places(e)...)
			p.read[at] = p.read[at] || p.atomic(e, nil)
		}
	})
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && adds(sel) {
				at := p.place(sel.X)
				p.grows[at] = p.grows[at] || !p.countsDown(p.function(sel), call.Args)
			}
		}
		return true
	})
}

// stepped reports whether the new value of a place depends on the one before.
func (p *progress) stepped(at string) bool {
	for grown := range p.grows {
		if p.grows[grown] && (at == grown || strings.HasPrefix(at, grown+".")) {
			return false
		}
	}
	before := make(map[string]bool)
	for _, other := range p.needs[at] {
		p.dependsOn(other, before)
	}
	return before[at]
}

// each calls fn for each place that is assigned in n, with the expressions that go into it; again says that its old value
// does too.
func (p *progress) each(n ast.Node, fn func(at string, from []ast.Expr, again bool)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return p.inline[n]
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				from := n.Rhs
				if e := pair(n.Rhs, len(n.Lhs), i); e != nil {
					from = []ast.Expr{e}
				}
				if at := p.place(lhs); at != "" {
					fn(at, from, n.Tok != token.ASSIGN && n.Tok != token.DEFINE)
				}
			}
		case *ast.IncDecStmt:
			if at := p.place(n.X); at != "" {
				fn(at, nil, true)
			}
		case *ast.CallExpr:
			if at := p.takesFrom(n); at != "" {
				fn(at, nil, true)
			}
			for _, at := range p.steppedBy(n) {
				fn(at, nil, true)
			}
		}
		return true
	})
}

// takers are the names of methods that leave less behind, and adders begin those of methods that leave more.
var (
	takers = set([]string{"pop", "Pop", "take", "Take", "remove", "Remove"})
	adders = []string{"push", "Push", "add", "Add", "insert", "Insert", "append", "Append"}
)

// takesFrom returns the place that a call takes something from: a queue, or a local variable, not a pointer to one, to
// which nobody else adds.
func (p *progress) takesFrom(call *ast.CallExpr) string {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	fn := p.function(sel)
	if fn == nil || fn.Signature().Recv() == nil {
		return ""
	}
	v := p.variable(sel.X)
	local := v != nil && !v.IsField() && v.Pkg() != nil && v.Parent() != v.Pkg().Scope() && isStruct(v.Type()) && isPointer(fn.Signature().Recv().Type())
	if local && !adds(sel) || takers[fn.Name()] || p.countsDown(fn, call.Args) {
		return p.place(sel.X)
	}
	return ""
}

func adds(sel *ast.SelectorExpr) bool {
	return slices.ContainsFunc(adders, func(name string) bool { return strings.HasPrefix(sel.Sel.Name, name) })
}

// countsDown reports whether a call takes from an atomic counter.
func (p *progress) countsDown(fn *types.Func, args []ast.Expr) bool {
	if fn == nil || fn.Name() != "Add" || fn.Pkg() == nil || fn.Pkg().Path() != "sync/atomic" || len(args) != 1 {
		return false
	}
	v := p.pass.TypesInfo.Types[args[0]].Value
	return v != nil && constant.Sign(v) < 0
}

// steppedBy returns the fields that a method of this package steps, of the object that a call is about.
func (p *progress) steppedBy(call *ast.CallExpr) []string {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	n, of := p.byFunc[p.function(sel)], p.place(sel.X)
	if n == nil || of == "" || n == p.node {
		return nil
	}
	if n.steps == nil {
		n.steps = p.fieldsStepped(n)
	}
	var all []string
	for _, field := range n.steps {
		all = append(all, of+field)
	}
	return all
}

// fieldsStepped returns the fields of its receiver that a method steps, as ".field".
func (p *progress) fieldsStepped(n *node) []string {
	n.steps = []string{} // for those that call each other
	decl, ok := n.root.(*ast.FuncDecl)
	if !ok || decl.Recv == nil || len(decl.Recv.List[0].Names) == 0 {
		return n.steps
	}
	recv := p.place(decl.Recv.List[0].Names[0])
	in := &progress{body: &body{checker: p.checker, node: n}, needs: make(map[string][]string), read: make(map[string]bool), grows: make(map[string]bool)}
	in.learn(n.body)
	for at := range in.needs {
		if field, ok := strings.CutPrefix(at, recv+"."); ok && recv != "" && in.stepped(at) {
			n.steps = append(n.steps, "."+field)
		}
	}
	return n.steps
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// endsBy notes that a condition can end the loop.
func (p *progress) endsBy(condition ast.Expr, depends ...ast.Expr) {
	p.decides[condition] = true
	for _, e := range append(depends, condition) {
		for _, at := range p.places(e) {
			p.dependsOn(at, p.ends)
		}
	}
}

// dependsOn adds to found the places, of those that the loop assigns, on which a place depends.
func (p *progress) dependsOn(at string, found map[string]bool) {
	for known, from := range p.needs {
		if !found[known] && (at == known || strings.HasPrefix(at, known+".")) {
			found[known] = true
			for _, other := range from {
				p.dependsOn(other, found)
			}
		}
	}
}

// steps reports whether a statement or condition brings the end nearer.
func (p *progress) steps(n ast.Node) bool {
	found := false
	p.each(n, func(at string, from []ast.Expr, again bool) {
		if !p.ends[at] {
			return
		}
		found = found || p.stepped(at)
		for _, e := range from {
			found = found || p.atomic(e, p.read)
		}
	})
	if e, ok := n.(ast.Expr); ok && p.decides[e] {
		found = found || p.atomic(e, p.read) || p.clock(e)
	}
	return found
}

// atomic reports whether e calls an atomic operation: any if of is nil, otherwise one that changes something to what
// depends on those places.
func (p *progress) atomic(e ast.Expr, of map[string]bool) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !found
		}
		fn := p.resolve(call).fn
		if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync/atomic" {
			return !found
		}
		if of == nil {
			found = true
			return false
		}
		for _, arg := range call.Args {
			for _, at := range p.places(arg) {
				from := make(map[string]bool)
				p.dependsOn(at, from)
				for other := range from {
					found = found || of[other]
				}
			}
		}
		return !found
	})
	return found
}

// clock reports whether e reads the frame's clock.
func (p *progress) clock(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			found = found || isMethod(p.resolve(call).fn, dispatchPath, "Frame", "Now")
		}
		return !found
	})
	return found
}

// place names a variable, or a field of one, so that it can be told from others; "" for anything else.
func (p *progress) place(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := p.pass.TypesInfo.ObjectOf(e).(*types.Var)
		if ok && p.aliases[v] != nil {
			return p.place(p.aliases[v])
		}
		if ok && e.Name != "_" {
			return fmt.Sprint(v.Name(), "@", v.Pos())
		}
	case *ast.SelectorExpr:
		if _, ok := p.pass.TypesInfo.ObjectOf(e.Sel).(*types.Var); !ok {
			return ""
		}
		if of := p.place(e.X); of != "" {
			return of + "." + e.Sel.Name
		}
	case *ast.StarExpr:
		if of := p.place(e.X); of != "" {
			return of + ".*"
		}
	}
	return ""
}

// places are those that e mentions.
func (p *progress) places(e ast.Expr) []string {
	var found []string
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			found = append(found, p.steppedBy(call)...) // its result is about them
		}
		if e, ok := n.(ast.Expr); ok {
			if at := p.place(e); at != "" {
				found = append(found, at)
				return false
			}
		}
		_, lit := n.(*ast.FuncLit)
		return !lit
	})
	return found
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}
