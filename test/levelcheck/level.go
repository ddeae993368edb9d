package levelcheck

import (
	"go/types"
	"strings"
)

const (
	module       = "minisrp"
	dispatchPath = module + "/verbs/dispatch"
)

// Level is where a function may run.
type Level uint8

const (
	Computing Level = iota // at both levels: it never blocks
	Passive                // an ordinary goroutine, which may block
	Dispatch               // must return at once
)

func (l Level) String() string {
	return [...]string{"computing", "passive", "dispatch"}[l]
}

// ofSignature is the level that the first parameter says.
func ofSignature(sig *types.Signature) Level {
	if sig.Params().Len() == 0 {
		return Computing
	}
	switch first := sig.Params().At(0).Type(); {
	case isFrame(first):
		return Dispatch
	case isContext(first):
		return Passive
	}
	return Computing
}

// isFrame reports whether t is *dispatch.Frame.
func isFrame(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	return ok && isNamed(p.Elem(), dispatchPath, "Frame")
}

func isContext(t types.Type) bool { return isNamed(t, "context", "Context") }

func isNamed(t types.Type, path, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	return n.Obj().Name() == name && n.Obj().Pkg().Path() == path
}

// isOurs reports whether pkg belongs to the module: only there are levels said and checked.
func isOurs(pkg *types.Package) bool {
	return pkg != nil && (pkg.Path() == module || strings.HasPrefix(pkg.Path(), module+"/"))
}

// funcSignature returns the signature of a function type, named or not, or nil for another type.
func funcSignature(t types.Type) *types.Signature {
	if t == nil {
		return nil
	}
	sig, _ := t.Underlying().(*types.Signature)
	return sig
}

// isTransition reports whether fn is Processor.Raise or Frame.Lower, which change the level of their caller.
func isTransition(fn *types.Func) bool { return isRaise(fn) || isLower(fn) }

func isRaise(fn *types.Func) bool { return isMethod(fn, dispatchPath, "Processor", "Raise") }
func isLower(fn *types.Func) bool { return isMethod(fn, dispatchPath, "Frame", "Lower") }

func isMethod(fn *types.Func, path, typ, name string) bool {
	if fn == nil || fn.Name() != name || fn.Pkg() == nil || fn.Pkg().Path() != path {
		return false
	}
	recv := fn.Signature().Recv()
	return recv != nil && isNamed(deref(recv.Type()), path, typ)
}

func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}
