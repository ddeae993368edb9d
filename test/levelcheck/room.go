package levelcheck

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// appends refuses append on the data path, except to memory with a fixed place: a part of an array, or what a function
// whose name starts with Append was given, whose caller is held to the same. That it is large enough is for tests.
func (w *allocWalk) appends(call *ast.CallExpr) {
	if !w.fixed(call.Args[0]) {
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
			if !w.fixed(arg) {
				w.find(call.Pos(), "%s appends to memory that it may have to take: give it a part of an array", t.name)
			}
			return // what it appends to is its first slice
		}
	}
}

func isAppender(fn *types.Func) bool {
	return fn != nil && fn.Pkg().Path() != dispatchPath && strings.HasPrefix(strings.ToLower(fn.Name()), "append")
}

// A place is what is known of where the elements of a slice lie.
type place uint8

const (
	elsewhere place = iota // or nowhere
	itself                 // where the variable had them before, of which something else must tell
	fixed                  // in an array, or where an appender was told to put them
)

// fixed reports whether a slice is a part of an array, or was given to an appender to append to.
func (w *allocWalk) fixed(e ast.Expr) bool { return w.placeOf(e, nil) == fixed }

func (w *allocWalk) placeOf(e ast.Expr, seen []*types.Var) place {
	switch e := ast.Unparen(e).(type) {
	case *ast.SliceExpr:
		switch t := coreType(w.pass.TypesInfo.TypeOf(e.X)).(type) {
		case *types.Array:
			return fixed
		case *types.Pointer:
			if _, array := coreType(t.Elem()).(*types.Array); array {
				return fixed
			}
			return elsewhere
		}
		return w.placeOf(e.X, seen)
	case *ast.CallExpr:
		t := w.resolve(e)
		if (t.builtin == "append" || isAppender(t.fn)) && len(e.Args) > 0 {
			return w.placeOf(e.Args[0], seen)
		}
	case *ast.Ident:
		v, ok := w.pass.TypesInfo.ObjectOf(e).(*types.Var)
		if ok && v.Parent() != w.pass.Pkg.Scope() {
			return w.placeOfVar(v, seen)
		}
	}
	return elsewhere
}

// placeOfVar is placeOf for a local variable or parameter: all that it is assigned must be fixed, and something must be.
func (w *allocWalk) placeOfVar(v *types.Var, seen []*types.Var) place {
	if slices.Contains(seen, v) {
		return itself
	}
	seen = append(seen, v)
	at := itself
	for p := range w.node.sig.Params().Variables() {
		switch {
		case p != v:
		case !isAppender(w.node.fn):
			return elsewhere
		default:
			at = fixed
		}
	}
	ast.Inspect(w.node.body, func(n ast.Node) bool {
		assign, is := n.(*ast.AssignStmt)
		if !is {
			return at != elsewhere
		}
		for i, lhs := range assign.Lhs {
			if id, is := lhs.(*ast.Ident); !is || w.pass.TypesInfo.ObjectOf(id) != v {
				continue
			}
			from := elsewhere
			if value := pair(assign.Rhs, len(assign.Lhs), i); value != nil {
				from = w.placeOf(value, seen)
			}
			if from != itself && at != elsewhere {
				at = from
			}
		}
		return at != elsewhere
	})
	return at
}
