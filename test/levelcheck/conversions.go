package levelcheck

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A conversion is a place where a value becomes one of another type, or goes into a variable that has a mark of its
// own: there the level that the target says binds the value.
type conversion struct {
	pos    token.Pos
	given  *types.Var // the field that it is a copy of, if it has no expression of its own
	src    ast.Expr   // nil when only its type is known: one of several results, a type argument
	from   types.Type
	to     types.Type
	holder *types.Var // the variable, parameter or field that takes it; nil if none
}

// findConversions lists the package's conversions to function types and interfaces.
func (c *checker) findConversions() {
	for _, file := range c.pass.Files {
		var stack []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			c.conversionsIn(n, stack)
			return true
		})
	}
	for id, inst := range c.pass.TypesInfo.Instances {
		c.instantiation(id, inst)
	}
}

func (c *checker) conversionsIn(n ast.Node, stack []ast.Node) {
	info := c.pass.TypesInfo
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			if id, ok := lhs.(*ast.Ident); ok && id.Name == "_" {
				continue
			}
			c.flow(n.Rhs, len(n.Lhs), i, info.TypeOf(lhs), c.variable(lhs))
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			v, _ := info.Defs[name].(*types.Var)
			to := info.TypeOf(name)
			if n.Type != nil {
				to = info.TypeOf(n.Type) // of a blank name too: var _ I = T{}
			}
			if len(n.Values) > 0 {
				c.flow(n.Values, len(n.Names), i, to, v)
			}
		}
	case *ast.ReturnStmt:
		if results := enclosingResults(info, stack); results != nil && len(n.Results) > 0 {
			for i := range results.Len() {
				c.flow(n.Results, results.Len(), i, results.At(i).Type(), nil)
			}
		}
	case *ast.CallExpr:
		c.arguments(n)
	case *ast.CompositeLit:
		c.elements(n)
	case *ast.RangeStmt:
		c.ranges(n)
	case *ast.UnaryExpr:
		c.address(n)
	case *ast.IndexExpr:
		if m, ok := coreType(info.TypeOf(n.X)).(*types.Map); ok {
			c.add(n.Index, m.Key(), nil)
		}
	case *ast.SendStmt:
		if ch, ok := coreType(info.TypeOf(n.Chan)).(*types.Chan); ok {
			c.add(n.Value, ch.Elem(), nil)
		}
	case *ast.TypeAssertExpr:
		if n.Type != nil {
			c.assertion(n.Type)
		}
	case *ast.TypeSwitchStmt:
		for _, clause := range n.Body.List {
			for _, typ := range clause.(*ast.CaseClause).List {
				c.assertion(typ)
			}
		}
	}
}

// flow records that the i-th of n targets takes its value from values.
func (c *checker) flow(values []ast.Expr, n, i int, to types.Type, holder *types.Var) {
	if src := pair(values, n, i); src != nil {
		c.add(src, to, holder)
		return
	}
	if tuple, ok := c.pass.TypesInfo.TypeOf(values[0]).(*types.Tuple); ok && i < tuple.Len() {
		c.keep(conversion{pos: values[0].Pos(), from: tuple.At(i).Type(), to: to, holder: holder})
	}
}

func (c *checker) add(src ast.Expr, to types.Type, holder *types.Var) {
	c.keep(conversion{pos: src.Pos(), src: src, from: c.pass.TypesInfo.TypeOf(src), to: to, holder: holder})
}

// keep drops what cannot bind: the target must be of a function or interface type.
func (c *checker) keep(v conversion) {
	if v.from == nil || v.to == nil {
		return
	}
	if _, ok := types.Unalias(v.to).(*types.TypeParam); ok {
		// What it stands for is held to its constraint where it is instantiated; but what is converted to it within the
		// function might become a type of any level.
		if funcSignature(v.from) != nil {
			c.report(v.pos, ruleConvert, "a function becomes one of a type that is not known here: take it as a parameter of that type")
		}
		return
	}
	if c.structs(v) || c.pointers(v) {
		return
	}
	if funcSignature(v.to) != nil || types.IsInterface(v.to) {
		c.conversions = append(c.conversions, v)
	}
}

// structs records what the conversion of a struct does to its fields, which may have other marks in the new type.
func (c *checker) structs(v conversion) bool {
	from, ok := v.from.Underlying().(*types.Struct)
	to, ok2 := v.to.Underlying().(*types.Struct)
	if !ok || !ok2 {
		return false
	}
	for i := range min(from.NumFields(), to.NumFields()) {
		if from.Field(i) != to.Field(i) {
			c.keep(conversion{pos: v.pos, given: from.Field(i), from: from.Field(i).Type(), to: to.Field(i).Type(), holder: to.Field(i)})
		}
	}
	return true
}

// pointers records what the conversion of a pointer makes of what it points to, which may be put in and taken out by
// either name.
func (c *checker) pointers(v conversion) bool {
	from, ok := v.from.Underlying().(*types.Pointer)
	to, ok2 := v.to.Underlying().(*types.Pointer)
	if !ok || !ok2 {
		return false
	}
	if !types.Identical(from.Elem(), to.Elem()) {
		c.keep(conversion{pos: v.pos, from: from.Elem(), to: to.Elem()})
		c.keep(conversion{pos: v.pos, from: to.Elem(), to: from.Elem()})
	}
	return true
}

// ranges records what a range over a slice, map or channel puts into variables that were there before it.
func (c *checker) ranges(n *ast.RangeStmt) {
	if n.Tok != token.ASSIGN {
		return
	}
	key, value := rangeTypes(c.pass.TypesInfo.TypeOf(n.X))
	for lhs, from := range map[ast.Expr]types.Type{n.Key: key, n.Value: value} {
		if lhs != nil && from != nil {
			c.keep(conversion{pos: lhs.Pos(), from: from, to: c.pass.TypesInfo.TypeOf(lhs), holder: c.variable(lhs)})
		}
	}
}

func rangeTypes(t types.Type) (key, value types.Type) {
	switch t := coreType(t).(type) {
	case *types.Slice:
		return nil, t.Elem()
	case *types.Array:
		return nil, t.Elem()
	case *types.Map:
		return t.Key(), t.Elem()
	case *types.Chan:
		return t.Elem(), nil
	case *types.Pointer:
		return rangeTypes(t.Elem())
	case *types.Signature: // what it gives to yield
		if t.Params().Len() == 1 {
			if yield := funcSignature(t.Params().At(0).Type()); yield != nil {
				types := [2]types.Type{}
				for i := range min(2, yield.Params().Len()) {
					types[i] = yield.Params().At(i).Type()
				}
				return types[0], types[1]
			}
		}
	}
	return nil, nil
}

// address refuses to take the address of a variable or field that has a mark of its own: what is put in through the
// pointer is not seen.
func (c *checker) address(n *ast.UnaryExpr) {
	if n.Op != token.AND {
		return
	}
	v := c.variable(n.X)
	if v == nil || funcSignature(v.Type()) == nil || c.levelOfVar(v) == c.levelOfType(v.Type()) {
		return
	}
	c.report(n.Pos(), ruleConvert, "the address of %s is taken, which is called at Dispatch: give its type a name with that mark", types.ExprString(n.X))
}

// arguments records what a call converts: to its type, to its parameters, or to the elements that it appends.
func (c *checker) arguments(call *ast.CallExpr) {
	info := c.pass.TypesInfo
	fun := info.Types[ast.Unparen(call.Fun)]
	if fun.IsType() {
		if len(call.Args) == 1 {
			c.add(call.Args[0], fun.Type, nil)
		}
		return
	}
	sig := funcSignature(fun.Type)
	if sig == nil {
		return
	}
	params := sig.Params()
	if len(call.Args) == 1 && params.Len() > 1 {
		if tuple, ok := info.TypeOf(call.Args[0]).(*types.Tuple); ok { // f(g()) with several results
			for i := range min(tuple.Len(), params.Len()) {
				c.flow(call.Args, params.Len(), i, params.At(i).Type(), params.At(i))
			}
			return
		}
	}
	for i, arg := range call.Args {
		last := params.Len() - 1
		switch {
		case i < last || i == last && (!sig.Variadic() || call.Ellipsis.IsValid()):
			c.add(arg, params.At(i).Type(), params.At(i))
		case last >= 0 && sig.Variadic():
			if s, ok := params.At(last).Type().Underlying().(*types.Slice); ok {
				c.add(arg, s.Elem(), nil)
			}
		}
	}
}

// elements records what a composite literal's fields and elements take.
func (c *checker) elements(lit *ast.CompositeLit) {
	switch t := coreType(deref(c.pass.TypesInfo.TypeOf(lit))).(type) {
	case *types.Struct:
		for i, elt := range lit.Elts {
			field, value := t.Field(min(i, t.NumFields()-1)), elt
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				v, ok := c.pass.TypesInfo.ObjectOf(kv.Key.(*ast.Ident)).(*types.Var)
				if !ok {
					continue
				}
				field, value = v, kv.Value
			}
			c.add(value, field.Type(), field)
		}
	case *types.Slice:
		c.elementsOf(lit, t.Elem())
	case *types.Array:
		c.elementsOf(lit, t.Elem())
	case *types.Map:
		c.elementsOf(lit, t.Elem())
		for _, elt := range lit.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				c.add(kv.Key, t.Key(), nil)
			}
		}
	}
}

func (c *checker) elementsOf(lit *ast.CompositeLit, elem types.Type) {
	for _, elt := range lit.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			elt = kv.Value
		}
		c.add(elt, elem, nil)
	}
}

// assertion records that a value of unknown type is taken for an interface.
func (c *checker) assertion(typ ast.Expr) {
	if t := c.pass.TypesInfo.TypeOf(typ); t != nil && types.IsInterface(t) {
		c.keep(conversion{pos: typ.Pos(), from: types.Universe.Lookup("any").Type(), to: t})
	}
}

// instantiation records that type arguments stand for type parameters, whose constraints are interfaces.
func (c *checker) instantiation(id *ast.Ident, inst types.Instance) {
	var params *types.TypeParamList
	switch obj := c.pass.TypesInfo.ObjectOf(id).(type) {
	case *types.Func:
		params = obj.Origin().Signature().TypeParams()
	case *types.TypeName:
		if n, ok := types.Unalias(obj.Type()).(*types.Named); ok {
			params = n.Origin().TypeParams()
		}
	}
	for i := range min(params.Len(), inst.TypeArgs.Len()) {
		c.keep(conversion{pos: id.Pos(), from: inst.TypeArgs.At(i), to: params.At(i).Constraint()})
	}
}

// coreType is the underlying type; of a type parameter that of what it may stand for, one that the rules are about before
// others.
func coreType(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	param, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return t.Underlying()
	}
	var core types.Type
	var visit func(t types.Type)
	visit = func(t types.Type) {
		switch u := t.Underlying().(type) {
		case *types.Interface:
			for i := range u.NumEmbeddeds() {
				switch e := types.Unalias(u.EmbeddedType(i)).(type) {
				case *types.Union:
					for j := range e.Len() {
						visit(e.Term(j).Type())
					}
				default:
					visit(e)
				}
			}
		case *types.Chan, *types.Signature, *types.Map:
			core = u
		default:
			if b, ok := u.(*types.Basic); core == nil || ok && b.Info()&types.IsString != 0 {
				core = u
			}
		}
	}
	visit(param.Constraint())
	if core == nil {
		return t.Underlying()
	}
	return core
}

// enclosingResults returns the results of the innermost function on the stack.
func enclosingResults(info *types.Info, stack []ast.Node) *types.Tuple {
	for i := len(stack) - 1; i >= 0; i-- {
		switch n := stack[i].(type) {
		case *ast.FuncLit:
			if sig := funcSignature(info.TypeOf(n)); sig != nil {
				return sig.Results()
			}
			return nil
		case *ast.FuncDecl:
			if fn, ok := info.Defs[n.Name].(*types.Func); ok {
				return fn.Signature().Results()
			}
			return nil
		}
	}
	return nil
}
