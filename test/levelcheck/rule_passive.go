package levelcheck

import "go/ast"

// callPassive refuses to call what may block, by its mark or because it takes a context; and settles calls of what runs
// at Dispatch.
func callPassive(b *body, call *ast.CallExpr, t target) bool {
	switch {
	case !t.said:
		return false
	case t.fn != nil && !isOurs(t.fn.Pkg()), t.method != nil && !isOurs(t.method.Pkg()):
		return false
	case t.level == Passive:
		b.find(rulePassive, call.Pos(), "calls %s, which is passive", t.name)
	}
	return true
}
