package levelcheck

import (
	"go/ast"
	"go/types"
)

// callStd lets code outside this module be called only when it is on the list of what is known to return at once.
func callStd(b *body, call *ast.CallExpr, t target) bool {
	switch {
	case t.builtin == "print" || t.builtin == "println":
		b.find(ruleStd, call.Pos(), "%s writes to standard error", t.builtin)
		return true
	case t.fn == nil:
		return t.builtin != ""
	case isOurs(t.fn.Pkg()):
		return false
	}
	if name := fullName(t.fn); !allowed(t.fn) {
		b.find(ruleStd, call.Pos(), "calls %s, which is not on the list of what may be called at Dispatch", name)
	}
	return true
}

// fullName is a function's path: encoding/binary.littleEndian.Uint16. It is "" for nil.
func fullName(fn *types.Func) string {
	if fn == nil || fn.Pkg() == nil {
		return ""
	}
	name := fn.Name()
	if recv := fn.Signature().Recv(); recv != nil {
		if n, ok := types.Unalias(deref(recv.Type())).(*types.Named); ok {
			name = n.Obj().Name() + "." + name
		}
	}
	return fn.Pkg().Path() + "." + name
}

// allowed reports whether a function outside this module may be called at Dispatch.
func allowed(fn *types.Func) bool {
	return allowedPackages[fn.Pkg().Path()] || allowedFuncs[fullName(fn)]
}
