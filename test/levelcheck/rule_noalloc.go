package levelcheck

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// allocs is what a function takes from the heap.
type allocs struct {
	marked   bool // stands on the data path: by its mark, or by that of the type that a literal goes to
	findings []finding
	edges    []edge // calls of functions of the same package
	reason   string // why a function must not stand on the data path; "" if it may
}

// findAllocs looks for what every function takes from the heap: what the compiler's report says of its lines, and what
// the compiler does not report because it is decided at run time. Passive functions do not matter: at Dispatch they
// are not called.
func (c *checker) findAllocs() {
	if c.heap == nil {
		return
	}
	for _, n := range c.nodes {
		n.allocs.marked = n.lit != nil && c.noallocLits[n.lit] || n.fn != nil && c.markedNoAlloc(n.fn)
		if n.level != Passive {
			w := &allocWalk{checker: c, node: n}
			w.reported()
			ast.Inspect(n.body, w.visit)
		}
	}
	c.propagateAllocs()
}

// allocWalk is the walk over one function.
type allocWalk struct {
	*checker
	node *node
}

// reported takes from the compiler's report what is said of the function, without the literals in it.
func (w *allocWalk) reported() {
	file := w.pass.Fset.File(w.node.pos)
	for _, a := range w.heap.allocations[file.Name()] {
		if a.line > file.LineCount() {
			continue
		}
		pos := file.LineStart(a.line) + token.Pos(a.column-1)
		if pos < w.node.from || pos >= w.node.body.End() {
			continue
		}
		path := pathTo(w.node.root, pos)
		if w.inLiteral(path, pos) || w.inPanic(path) || w.static(path, pos) {
			continue
		}
		if strings.HasPrefix(a.text, "append ") {
			continue // visit tells of all of them
		}
		w.find(pos, "%s", a.text)
	}
}

// pathTo returns the nodes from root down to the innermost one around pos.
func pathTo(root ast.Node, pos token.Pos) []ast.Node {
	var path []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil || pos < n.Pos() || pos >= n.End() {
			return false
		}
		path = append(path, n)
		return true
	})
	return path
}

// inLiteral reports whether pos is inside a literal that is a function of its own. The literal itself, which starts
// at pos, is taken from the heap by the function around it.
func (w *allocWalk) inLiteral(path []ast.Node, pos token.Pos) bool {
	for _, n := range path[min(1, len(path)):] {
		if lit, ok := n.(*ast.FuncLit); ok && !w.inline[lit] && lit.Pos() != pos {
			return true
		}
	}
	return false
}

func (w *allocWalk) inPanic(path []ast.Node) bool {
	for _, n := range path {
		if call, ok := n.(*ast.CallExpr); ok && w.resolve(call).builtin == "panic" {
			return true
		}
	}
	return false
}

// static reports whether what stands at pos escapes, but is in the program's data: a constant, a value without size, or
// a function that captures nothing.
func (w *allocWalk) static(path []ast.Node, pos token.Pos) bool {
	for _, n := range path {
		e, ok := n.(ast.Expr)
		if !ok {
			continue
		}
		if lit, ok := e.(*ast.FuncLit); ok && lit.Pos() == pos {
			return !w.captures(lit)
		}
		tv, ok := w.pass.TypesInfo.Types[e]
		if !ok || !tv.IsValue() {
			continue
		}
		if tv.Value != nil && tv.Value.Kind() != constant.Unknown {
			return true
		}
		if s, ok := tv.Type.Underlying().(*types.Struct); ok && s.NumFields() == 0 {
			return true
		}
	}
	return false
}

// captures reports whether a literal uses variables of the functions around it.
func (w *allocWalk) captures(lit *ast.FuncLit) bool {
	found := false
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			v, ok := w.pass.TypesInfo.Uses[id].(*types.Var)
			if ok && !v.IsField() && v.Parent() != w.pass.Pkg.Scope() && v.Pkg() == w.pass.Pkg && (v.Pos() < lit.Pos() || v.Pos() >= lit.End()) {
				found = true
			}
		}
		return !found
	})
	return found
}

// visit finds what takes memory only when the program runs, and follows the calls.
func (w *allocWalk) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		return w.inline[n]
	case *ast.AssignStmt:
		for _, lhs := range n.Lhs {
			w.mapWrite(lhs)
		}
		if n.Tok == token.ADD_ASSIGN && w.isString(n.Lhs[0]) {
			w.find(n.Pos(), "puts strings together")
		}
	case *ast.IncDecStmt:
		w.mapWrite(n.X)
	case *ast.BinaryExpr:
		if n.Op == token.ADD && w.isString(n) && w.pass.TypesInfo.Types[n].Value == nil {
			w.find(n.OpPos, "puts strings together")
			return false // once for a + b + c
		}
	case *ast.CallExpr:
		return w.call(n)
	}
	return true
}

func (w *allocWalk) isString(e ast.Expr) bool {
	b, ok := coreType(w.pass.TypesInfo.TypeOf(e)).(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func (w *allocWalk) mapWrite(lhs ast.Expr) {
	if index, ok := ast.Unparen(lhs).(*ast.IndexExpr); ok {
		if _, ok := coreType(w.pass.TypesInfo.TypeOf(index.X)).(*types.Map); ok {
			w.find(lhs.Pos(), "writes to a map, which may grow")
		}
	}
}

func (w *allocWalk) call(call *ast.CallExpr) bool {
	t := w.resolve(call)
	switch {
	case t.builtin == "panic":
		return false
	case t.builtin == "append":
		w.appends(call)
	case t.builtin == "make":
		w.makes(call)
	case t.builtin != "":
	case t.lit != nil:
		if callee := w.byLit[t.lit]; callee != nil {
			w.calls(call.Pos(), callee)
		}
	case t.method != nil && !w.markedNoAlloc(t.method):
		w.find(call.Pos(), "calls %s through an interface, and the method is not marked noalloc", t.name)
	case t.value != nil && !w.noallocValue(t.value):
		w.find(call.Pos(), "calls the function value %s, and neither its type nor its variable is marked noalloc", t.name)
	case t.fn != nil && isOurs(t.fn.Pkg()):
		w.callOurs(call, t)
	case t.fn == nil && t.method == nil && t.value == nil:
		w.converts(call)
	}
	return true
}

func (w *allocWalk) callOurs(call *ast.CallExpr, t target) {
	w.callAppender(call, t)
	if w.markedNoAlloc(t.fn) || t.level == Passive {
		return // is held to it where it stands; is an error of its own
	}
	if t.fn.Pkg() == w.pass.Pkg {
		if callee := w.byFunc[t.fn]; callee != nil {
			w.calls(call.Pos(), callee)
		}
		return
	}
	var fact Allocates
	if w.pass.ImportObjectFact(t.fn, &fact) {
		w.find(call.Pos(), "calls %s, which allocates (%s)", t.name, fact.Reason)
	}
}

// makes tells of what make takes although the compiler may have put it on the stack: what is not a slice of a constant
// size may be larger than there is room for.
func (w *allocWalk) makes(call *ast.CallExpr) {
	_, slice := coreType(w.pass.TypesInfo.TypeOf(call)).(*types.Slice)
	for _, size := range call.Args[1:] {
		slice = slice && w.pass.TypesInfo.Types[size].Value != nil
	}
	if !slice {
		w.find(call.Pos(), "makes what the stack may have no room for")
	}
}

// converts tells of conversions between strings and slices, which copy. Those of a comparison, of a switch and of the
// key of a map do not, and are not told apart.
func (w *allocWalk) converts(call *ast.CallExpr) {
	if len(call.Args) != 1 || w.pass.TypesInfo.Types[call].Value != nil {
		return
	}
	from, to := coreType(w.pass.TypesInfo.TypeOf(call.Args[0])), coreType(w.pass.TypesInfo.TypeOf(call))
	_, fromSlice := from.(*types.Slice)
	_, toSlice := to.(*types.Slice)
	if fromSlice && w.isString(call) || toSlice && w.isString(call.Args[0]) || w.isString(call) && !w.isString(call.Args[0]) {
		w.find(call.Pos(), "converts between a string and a slice, which copies")
	}
}

func (w *allocWalk) find(pos token.Pos, format string, args ...any) {
	if e := w.exempt(pos, ruleNoAlloc); e != nil {
		e.used = true
		return
	}
	w.node.allocs.findings = append(w.node.allocs.findings, finding{pos: pos, rule: ruleNoAlloc, text: fmt.Sprintf(format, args...)})
}

func (w *allocWalk) calls(pos token.Pos, callee *node) {
	w.node.allocs.edges = append(w.node.allocs.edges, edge{pos: pos, callee: callee, exempt: w.exempt(pos, ruleNoAlloc)})
}

// propagateAllocs finds the functions that allocate because of what they call, until nothing changes. One on the data
// path is held to it where it stands, and not told of again where it is called.
func (c *checker) propagateAllocs() {
	for _, n := range c.nodes {
		slices.SortStableFunc(n.allocs.findings, func(a, b finding) int { return int(a.pos - b.pos) })
		if !n.allocs.marked && len(n.allocs.findings) > 0 {
			n.allocs.reason = c.at(n.allocs.findings[0].pos) + ": " + n.allocs.findings[0].text
		}
	}
	for changed := true; changed; {
		changed = false
		for _, n := range c.nodes {
			if n.allocs.marked || n.allocs.reason != "" {
				continue
			}
			for _, e := range n.allocs.edges {
				if e.exempt == nil && e.callee.allocs.reason != "" {
					n.allocs.reason = c.at(e.pos) + ": calls " + e.callee.name + "; " + e.callee.allocs.reason
					changed = true
					break
				}
			}
		}
	}
}

// reportAllocs tells what stands on the data path and allocates, where it does.
func (c *checker) reportAllocs() {
	for _, n := range c.nodes {
		for _, e := range n.allocs.edges {
			if e.exempt != nil && e.callee.allocs.reason != "" {
				e.exempt.used = true
			}
		}
	}
	if isTestSupport(c.pass.Pkg) {
		return
	}
	seen := make(map[*node]bool)
	var visit func(n *node, way string) // way is the calls that lead to n
	visit = func(n *node, way string) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, f := range n.allocs.findings {
			c.report(f.pos, ruleNoAlloc, "on the data path%s: %s", way, f.text)
		}
		for _, e := range n.allocs.edges {
			if e.exempt == nil && !e.callee.allocs.marked {
				visit(e.callee, cmp.Or(way, ", from "+n.name)+" to "+e.callee.name)
			}
		}
	}
	for _, n := range c.nodes {
		if n.allocs.marked {
			visit(n, "")
		}
	}
}

// unfitForPath says why fn must not be called on the data path, after the words that say why it would be; "" if it may.
func (c *checker) unfitForPath(fn *types.Func, role string) string {
	if isTestSupport(fn.Pkg()) || isTestSupport(c.pass.Pkg) || c.markedNoAlloc(fn) || !isOurs(fn.Pkg()) {
		return ""
	}
	reason := ""
	if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return c.funcName(fn) + " is not marked noalloc and " + role
	}
	if n := c.byFunc[fn]; n != nil {
		reason = n.allocs.reason
	}
	var fact Allocates
	if c.pass.ImportObjectFact(fn, &fact) {
		reason = fact.Reason
	}
	if reason == "" {
		return ""
	}
	return c.funcName(fn) + " allocates (" + reason + ") and " + role
}

// isTestSupport reports whether a package is there for tests: its name ends in test. Its objects stand in for those
// of the data path, and may allocate.
func isTestSupport(pkg *types.Package) bool { return pkg != nil && IsTestSupport(pkg.Path()) }

// IsTestSupport is isTestSupport for a package's path.
func IsTestSupport(path string) bool { return strings.HasSuffix(path, "test") }

// markedNoAlloc reports whether a function or an interface method bears the mark noalloc.
func (c *checker) markedNoAlloc(fn *types.Func) bool {
	var mark Mark
	return c.pass.ImportObjectFact(fn.Origin(), &mark) && mark.NoAlloc
}

// noallocValue reports whether a function value is marked noalloc: by the variable or field that holds it, or by its
// named type.
func (c *checker) noallocValue(e ast.Expr) bool {
	if v := c.variable(e); v != nil {
		return c.noallocVar(v)
	}
	return c.noallocType(c.pass.TypesInfo.TypeOf(e))
}

func (c *checker) noallocVar(v *types.Var) bool {
	var mark Mark
	if isOurs(v.Pkg()) && c.pass.ImportObjectFact(v.Origin(), &mark) {
		return mark.NoAlloc
	}
	return c.noallocType(v.Type())
}

func (c *checker) noallocType(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || !isOurs(n.Obj().Pkg()) {
		return false
	}
	var mark Mark
	return c.pass.ImportObjectFact(n.Origin().Obj(), &mark) && mark.NoAlloc
}
