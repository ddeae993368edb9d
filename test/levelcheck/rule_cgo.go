package levelcheck

import (
	"go/ast"
	"strings"
)

// callCgo refuses calls into C: what they do is not seen here, and the scheduler may take the processor away.
func callCgo(b *body, call *ast.CallExpr, t target) bool {
	name := t.name
	if t.fn != nil {
		name = t.fn.Name()
	}
	if !isCgo(name) {
		return false
	}
	_, c, _ := strings.Cut(name, "func_")
	b.find(ruleCgo, call.Pos(), "calls C.%s: what it does is not known here", c)
	return true
}

// isCgo reports whether name is what the cgo command calls a C function in the Go code that it writes.
func isCgo(name string) bool {
	return strings.HasPrefix(name, "_Cfunc_") || strings.HasPrefix(name, "_C2func_")
}
