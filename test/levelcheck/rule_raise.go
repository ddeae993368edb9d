package levelcheck

import "go/ast"

// callRaise holds the two doors of Dispatch. Who has a frame is there already, and only who raised it lowers it.
func callRaise(b *body, call *ast.CallExpr, t target) bool {
	switch {
	case isRaise(t.fn):
		b.find(ruleRaise, call.Pos(), "raises although it has a frame already: hand on the one that there is")
	case isLower(t.fn):
		if b.node.level == Dispatch {
			b.find(ruleRaise, call.Pos(), "lowers a frame that its caller raised")
		}
	default:
		return false
	}
	return true
}

// reportMissingLower tells of ways out of a function on which it has raised and does not lower: they would leave the
// processor without anybody to drain it. A function that is handed the frame may return with it raised.
func (c *checker) reportMissingLower(n *node) {
	for i := range n.sig.Params().Len() {
		if isFrame(n.sig.Params().At(i).Type()) {
			return
		}
	}
	for _, exit := range n.region.exits {
		if e := c.exempt(exit, ruleRaise); e != nil {
			e.used = true
			continue
		}
		c.report(exit, ruleRaise, "returns with the frame raised: call Lower first")
	}
}
