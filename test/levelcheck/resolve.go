package levelcheck

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// target is what a call calls.
type target struct {
	builtin string       // "panic", "close", …; with a conversion and an inline literal, nothing else is set
	fn      *types.Func  // a function or method, known here
	method  *types.Func  // a method of an interface or type parameter: known at run time
	value   ast.Expr     // a function value
	lit     *ast.FuncLit // the literal that the value is known to be
	level   Level
	said    bool // by a mark or a signature; false for a computing one
	name    string
}

// resolve finds out what call calls.
func (c *checker) resolve(call *ast.CallExpr) target {
	fun := ast.Unparen(call.Fun)
	if tv := c.pass.TypesInfo.Types[fun]; tv.IsType() {
		return target{}
	}
	if lit, ok := fun.(*ast.FuncLit); ok && c.inline[lit] {
		return target{}
	}
	switch obj := typeutil.Callee(c.pass.TypesInfo, call).(type) {
	case *types.Builtin:
		return target{builtin: obj.Name()}
	case *types.Func:
		fn := obj.Origin()
		t := target{fn: fn, name: c.funcName(fn), level: c.levelOf(fn)}
		if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			t.fn, t.method = nil, fn
		}
		t.said = t.level != Computing
		return t
	}
	t := target{value: fun, name: types.ExprString(fun), lit: c.literal(fun)}
	if lit := t.lit; lit != nil {
		return t
	}
	t.level = c.levelOfValue(fun)
	t.said = t.level != Computing
	return t
}

// levelOf is the level of a declared function or an interface method: what its mark says, else its signature.
func (c *checker) levelOf(fn *types.Func) Level {
	if isTransition(fn) {
		return Passive
	}
	var mark Mark
	if c.pass.ImportObjectFact(fn.Origin(), &mark) {
		return mark.Level
	}
	return ofSignature(fn.Signature())
}

// levelOfValue is the level of a function value: of the variable or field that holds it, of its named type, or of its
// signature.
func (c *checker) levelOfValue(e ast.Expr) Level {
	if v := c.variable(e); v != nil {
		return c.levelOfVar(v)
	}
	return c.levelOfType(c.pass.TypesInfo.TypeOf(e))
}

func (c *checker) levelOfVar(v *types.Var) Level {
	var mark Mark
	if isOurs(v.Pkg()) && c.pass.ImportObjectFact(v.Origin(), &mark) {
		return mark.Level
	}
	return c.levelOfType(v.Type())
}

func (c *checker) levelOfType(t types.Type) Level {
	if n, ok := types.Unalias(t).(*types.Named); ok && isOurs(n.Obj().Pkg()) {
		var mark Mark
		if c.pass.ImportObjectFact(n.Origin().Obj(), &mark) {
			return mark.Level
		}
	}
	if sig := funcSignature(t); sig != nil {
		return ofSignature(sig)
	}
	return Computing
}

// variable returns the variable or field that e names, or nil.
func (c *checker) variable(e ast.Expr) *types.Var {
	var obj types.Object
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		obj = c.pass.TypesInfo.ObjectOf(e)
	case *ast.SelectorExpr:
		obj = c.pass.TypesInfo.ObjectOf(e.Sel)
	}
	v, _ := obj.(*types.Var)
	return v
}

// literal returns the literal that e is or, through a local variable that holds no other, is known to be.
func (c *checker) literal(e ast.Expr) *ast.FuncLit {
	if lit, ok := ast.Unparen(e).(*ast.FuncLit); ok {
		return lit
	}
	if v := c.variable(e); v != nil {
		return c.closures[v]
	}
	return nil
}

// function returns the declared function or method that e is a value of, or nil.
func (c *checker) function(e ast.Expr) *types.Func {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		fn, _ := c.pass.TypesInfo.Uses[e].(*types.Func)
		return fn
	case *ast.SelectorExpr:
		fn, _ := c.pass.TypesInfo.Uses[e.Sel].(*types.Func)
		return fn
	case *ast.IndexExpr: // an instance of a generic function
		return c.function(e.X)
	case *ast.IndexListExpr:
		return c.function(e.X)
	}
	return nil
}

// funcName is how a reader names fn: Type.method, with the package if it is another.
func (c *checker) funcName(fn *types.Func) string {
	name := fn.Name()
	if recv := fn.Signature().Recv(); recv != nil {
		if n, ok := types.Unalias(deref(recv.Type())).(*types.Named); ok {
			name = n.Obj().Name() + "." + name
		}
	}
	if fn.Pkg() != nil && fn.Pkg() != c.pass.Pkg {
		name = fn.Pkg().Name() + "." + name
	}
	return name
}
