package levelcheck

import (
	"go/ast"
	"go/types"
	"reflect"
)

// resultType is told to the framework, which checks what run returns.
var resultType = reflect.TypeFor[*Result]()

// bindLiterals gives each literal the level of where it goes: a literal that becomes a function type marked dispatch is
// checked as Dispatch, whatever its signature says.
func (c *checker) bindLiterals() {
	for _, v := range c.conversions {
		if v.src == nil {
			continue
		}
		lit := c.literal(v.src)
		if lit == nil || funcSignature(v.to) == nil || c.inline[lit] {
			continue
		}
		if level := c.targetLevel(v); level != Computing && c.litLevels[lit] != Dispatch {
			c.litLevels[lit] = level
		}
		if c.targetNoAlloc(v) {
			c.noallocLits[lit] = true
		}
	}
}

// targetLevel is the level that a conversion to a function type asks for.
func (c *checker) targetLevel(v conversion) Level {
	if v.holder != nil {
		return c.levelOfVar(v.holder)
	}
	return c.levelOfType(v.to)
}

// targetNoAlloc reports whether a conversion to a function type puts the function on the data path.
func (c *checker) targetNoAlloc(v conversion) bool {
	if v.holder != nil {
		return c.noallocVar(v.holder)
	}
	return c.noallocType(v.to)
}

// checkConversions holds values to the level of the type, variable or interface that they become: once a function value
// or an object is called through it, nobody sees any more what is behind it.
func (c *checker) checkConversions() {
	for _, v := range c.conversions {
		wrong, rule := c.wrongConversion(v)
		if wrong == "" {
			continue
		}
		if e := c.exempt(v.pos, rule); e != nil {
			e.used = true
			continue
		}
		c.report(v.pos, rule, "%s", wrong)
	}
}

// wrongConversion says why a conversion must not be, and by which rule; "" if it may.
func (c *checker) wrongConversion(v conversion) (wrong, rule string) {
	if funcSignature(v.to) != nil {
		if wrong = c.wrongFunction(v); wrong != "" {
			return wrong, ruleConvert
		}
		return c.slowFunction(v), ruleNoAlloc
	}
	if wrong = c.hidesDoor(v); wrong != "" {
		return wrong, ruleRaise
	}
	if wrong = c.wrongObject(v, c.dispatchMethod); wrong != "" {
		return wrong, ruleConvert
	}
	return c.wrongObject(v, c.pathMethod), ruleNoAlloc
}

// hidesDoor says why a frame or a processor must not become an interface; "" if it may.
func (c *checker) hidesDoor(v conversion) string {
	iface, ok := v.to.Underlying().(*types.Interface)
	if !ok || isNil(v.from) {
		return ""
	}
	for method := range iface.Methods() {
		obj, _, _ := types.LookupFieldOrMethod(v.from, true, method.Pkg(), method.Name())
		if fn := asFunc(obj); isTransition(fn) {
			return c.funcName(fn) + " is called through an interface: who raises and who lowers is then not seen"
		}
	}
	return ""
}

// slowFunction says why a value must not become a function of the data path; "" if it may.
func (c *checker) slowFunction(v conversion) string {
	if !c.targetNoAlloc(v) || isTestSupport(c.pass.Pkg) {
		return ""
	}
	if v.src == nil {
		if v.given != nil && c.noallocVar(v.given) || c.noallocType(v.from) {
			return ""
		}
		return "a function becomes one of the data path, and is not known not to allocate"
	}
	if c.pass.TypesInfo.Types[ast.Unparen(v.src)].IsNil() || c.literal(v.src) != nil {
		return "" // a literal is checked itself
	}
	if fn := c.function(v.src); fn != nil {
		return c.unfitForPath(fn.Origin(), "becomes a function of the data path")
	}
	if c.noallocValue(v.src) {
		return ""
	}
	return types.ExprString(v.src) + " becomes a function of the data path, and neither its type nor its variable is marked noalloc"
}

// A demand is what an interface's method asks of what implements it: whether it asks at all, in which words, whether the
// signature alone fulfils it, and how to tell what does not.
type demand struct {
	asked, bySignature bool
	words              string
	unfit              func(fn *types.Func, role string) string
}

func (c *checker) dispatchMethod(method *types.Func) demand {
	return demand{c.levelOf(method) == Dispatch, ofSignature(method.Signature()) == Dispatch, "which is called at Dispatch", c.unfit}
}

func (c *checker) pathMethod(method *types.Func) demand {
	return demand{c.markedNoAlloc(method) && !isTestSupport(c.pass.Pkg), false, "which is on the data path", c.unfitForPath}
}

// wrongFunction says why a value must not become a function at Dispatch; "" if it may.
func (c *checker) wrongFunction(v conversion) string {
	if c.targetLevel(v) != Dispatch {
		return ""
	}
	from := v.from
	if v.src == nil {
		if v.given != nil && c.levelOfVar(v.given) == Dispatch || c.levelOfType(from) == Dispatch {
			return ""
		}
		return "a function of unknown level becomes one that is called at Dispatch"
	}
	if c.pass.TypesInfo.Types[ast.Unparen(v.src)].IsNil() || c.literal(v.src) != nil {
		return "" // a literal is checked itself
	}
	if fn := c.function(v.src); fn != nil {
		return c.unfit(fn.Origin(), "becomes a function that is called at Dispatch")
	}
	if c.levelOfValue(v.src) != Dispatch {
		return types.ExprString(v.src) + " becomes a function that is called at Dispatch, and neither its type nor its variable bears that mark"
	}
	return ""
}

// wrongObject says why an object must not be called through an interface; "" if it may.
func (c *checker) wrongObject(v conversion, asks func(method *types.Func) demand) string {
	iface, ok := v.to.Underlying().(*types.Interface)
	if !ok || isNil(v.from) {
		return ""
	}
	for method := range iface.Methods() {
		method = method.Origin()
		d := asks(method)
		if !d.asked {
			continue
		}
		obj, _, _ := types.LookupFieldOrMethod(v.from, true, method.Pkg(), method.Name())
		impl, ok := obj.(*types.Func)
		if !ok {
			if d.bySignature {
				continue // whatever implements it has the frame in its signature too
			}
			if !method.Exported() && method.Pkg() == c.pass.Pkg {
				if wrong := c.unfitHere(method, d); wrong != "" {
					return wrong
				}
				continue
			}
			return "what implements " + c.funcName(method) + ", " + d.words + ", is not known here"
		}
		if impl = impl.Origin(); impl == method {
			continue
		}
		if wrong := d.unfit(impl, "implements "+c.funcName(method)+", "+d.words); wrong != "" {
			return wrong
		}
	}
	return ""
}

// unfitHere is unfit for whatever can implement a method that is not exported: the methods of that name in this
// package.
func (c *checker) unfitHere(method *types.Func, d demand) string {
	for _, n := range c.nodes {
		if n.fn == nil || n.fn.Name() != method.Name() || n.fn.Signature().Recv() == nil {
			continue
		}
		if wrong := d.unfit(n.fn, "can implement "+c.funcName(method)+", "+d.words); wrong != "" {
			return wrong
		}
	}
	return ""
}

// unfit says why fn must not be called at Dispatch, after the words that say why it would be; "" if it may.
func (c *checker) unfit(fn *types.Func, role string) string {
	name := c.funcName(fn)
	switch c.levelOf(fn) {
	case Dispatch:
		return ""
	case Passive:
		return name + " is passive and " + role
	}
	if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return name + " bears no mark and " + role
	}
	if !isOurs(fn.Pkg()) {
		if allowed(fn) {
			return ""
		}
		return name + " is not on the list of what may be called at Dispatch and " + role
	}
	if fn.Pkg() == c.pass.Pkg {
		if n := c.byFunc[fn]; n != nil && n.blocks != "" {
			return name + " blocks (" + n.blocks + ") and " + role
		}
		return ""
	}
	var blocks Blocks
	if c.pass.ImportObjectFact(fn, &blocks) {
		return name + " blocks (" + blocks.Reason + ") and " + role
	}
	return ""
}

func isNil(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Kind() == types.UntypedNil
}
