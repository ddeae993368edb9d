package levelcheck

import (
	"go/ast"
	"go/types"
	"strings"
)

// appends refuses append on the data path, except to memory with a fixed place: a part of an array, or what a function
// whose name starts with Append was given, whose caller is held to the same. That it is large enough is for tests.
func (w *allocWalk) appends(call *ast.CallExpr) {
	if !w.fixed(call.Args[0], nil) {
		w.find(call.Pos(), "append may take memory: dispatch.Append does not")
	}
}

// callAppender holds the caller of a function that appends.
func (w *allocWalk) callAppender(call *ast.CallExpr, t target) {
	if !isAppender(t.fn) {
		return
	}
	for _, arg := range call.Args {
		if _, ok := coreType(w.pass.TypesInfo.TypeOf(arg)).(*types.Slice); ok || isNil(w.pass.TypesInfo.TypeOf(arg)) {
			if !w.fixed(arg, nil) {
				w.find(call.Pos(), "%s appends to memory that it may have to take: give it a part of an array", t.name)
			}
			return // what it appends to is its first slice
		}
	}
}

func isAppender(fn *types.Func) bool {
	return fn != nil && fn.Pkg().Path() != dispatchPath && strings.HasPrefix(strings.ToLower(fn.Name()), "append")
}

// fixed reports whether a slice is a part of an array, or was given to an appender to append to.
func (w *allocWalk) fixed(e ast.Expr, seen []*types.Var) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.SliceExpr:
		switch t := coreType(w.pass.TypesInfo.TypeOf(e.X)).(type) {
		case *types.Array:
			return true
		case *types.Pointer:
			_, array := coreType(t.Elem()).(*types.Array)
			return array
		}
		return w.fixed(e.X, seen)
	case *ast.CallExpr:
		t := w.resolve(e)
		return (t.builtin == "append" || isAppender(t.fn)) && len(e.Args) > 0 && w.fixed(e.Args[0], seen)
	case *ast.Ident:
		v, ok := w.pass.TypesInfo.ObjectOf(e).(*types.Var)
		if !ok || v.Parent() == w.pass.Pkg.Scope() {
			return false
		}
		return w.fixedVar(v, seen)
	}
	return false
}

// fixedVar is fixed for a local variable or parameter: all that it is assigned must be.
func (w *allocWalk) fixedVar(v *types.Var, seen []*types.Var) bool {
	for _, s := range seen {
		if s == v {
			return true // as far as the other assignments are
		}
	}
	seen = append(seen, v)
	given := false
	for p := range w.node.sig.Params().Variables() {
		given = given || p == v && isAppender(w.node.fn)
	}
	ok := true
	ast.Inspect(w.node.body, func(n ast.Node) bool {
		assign, is := n.(*ast.AssignStmt)
		if !is {
			return ok
		}
		for i, lhs := range assign.Lhs {
			if id, is := lhs.(*ast.Ident); is && w.pass.TypesInfo.ObjectOf(id) == v {
				value := pair(assign.Rhs, len(assign.Lhs), i)
				given, ok = true, ok && value != nil && w.fixed(value, seen)
			}
		}
		return ok
	})
	return given && ok
}
