package levelcheck

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"
)

const directive = "//level:"

// nearMark matches what was probably meant as a mark but is none, and would be passed over in silence.
var nearMark = regexp.MustCompile(`^(//\s+level:\s*(passive|dispatch|allow)\b|//\s*(Level|LEVEL):(passive|dispatch|allow)\b|//levels?\s*[:=]?\s*(passive|dispatch|allow)\b)`)

var marks = map[string]Mark{
	"passive":          {Level: Passive},
	"dispatch":         {Level: Dispatch},
	"dispatch noalloc": {Level: Dispatch, NoAlloc: true},
}

// HasNoAlloc reports whether a mark of the data path stands in a file.
func HasNoAlloc(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, comment := range markComments(group) {
			if marks[strings.TrimPrefix(directiveText(comment), directive)].NoAlloc {
				return true
			}
		}
	}
	return false
}

// readMarks attaches every mark of the package to its object as a fact, and reports marks that are misspelt, that
// contradict a signature, or that stand where nothing has a level.
func (c *checker) readMarks() {
	used := make(map[*ast.Comment]bool)
	attach := func(doc *ast.CommentGroup, id *ast.Ident) {
		obj := c.pass.TypesInfo.Defs[id]
		for _, comment := range markComments(doc) {
			used[comment] = true
			c.attach(comment, obj)
		}
	}
	for _, file := range c.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				attach(n.Doc, n.Name)
			case *ast.GenDecl:
				for _, spec := range n.Specs {
					doc, id := specDoc(n, spec)
					if id != nil {
						attach(doc, id)
					}
				}
			case *ast.TypeSpec:
				switch typ := n.Type.(type) {
				case *ast.InterfaceType:
					attachFields(typ.Methods, attach)
				case *ast.StructType:
					attachFields(typ.Fields, attach)
				}
			}
			return true
		})
		for _, group := range file.Comments {
			for _, comment := range group.List {
				c.checkComment(comment, used)
			}
		}
	}
}

// specDoc returns the comment that belongs to a declared type or variable, and its name. A declaration without
// parentheses carries the comment of its one spec.
func specDoc(decl *ast.GenDecl, spec ast.Spec) (*ast.CommentGroup, *ast.Ident) {
	var doc *ast.CommentGroup
	var id *ast.Ident
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		doc, id = spec.Doc, spec.Name
	case *ast.ValueSpec:
		if doc = spec.Doc; len(spec.Names) == 1 {
			id = spec.Names[0]
		}
	}
	if doc == nil && !decl.Lparen.IsValid() {
		doc = decl.Doc
	}
	return doc, id
}

func attachFields(fields *ast.FieldList, attach func(*ast.CommentGroup, *ast.Ident)) {
	for _, field := range fields.List {
		for _, name := range field.Names {
			attach(field.Doc, name)
		}
	}
}

// markComments returns the lines of doc that are marks, without exemptions.
func markComments(doc *ast.CommentGroup) []*ast.Comment {
	if doc == nil {
		return nil
	}
	var found []*ast.Comment
	for _, comment := range doc.List {
		if strings.HasPrefix(comment.Text, directive) && !strings.HasPrefix(comment.Text, directive+"allow") {
			found = append(found, comment)
		}
	}
	return found
}

func (c *checker) attach(comment *ast.Comment, obj types.Object) {
	text := directiveText(comment)
	mark, ok := marks[strings.TrimPrefix(text, directive)]
	if !ok {
		c.report(comment.Pos(), ruleMark, "%q is no mark: write //level:passive, //level:dispatch or //level:dispatch noalloc", text)
		return
	}
	sig := funcSignature(typeOf(obj))
	if sig == nil {
		c.report(comment.Pos(), ruleMark, "the mark stands on nothing that is called: functions, interface methods, function types, variables and fields of function type have a level")
		return
	}
	if tn, ok := obj.(*types.TypeName); ok && tn.IsAlias() {
		c.report(comment.Pos(), ruleMark, "an alias cannot carry a mark: the checker sees the aliased type")
		return
	}
	if mark.Level == Dispatch && ofSignature(sig) == Passive {
		c.report(comment.Pos(), ruleMark, "marked dispatch, but takes a context.Context first, which means passive")
		return
	}
	if mark.Level == Passive && ofSignature(sig) == Dispatch && !isTransition(asFunc(obj)) {
		c.report(comment.Pos(), ruleMark, "marked passive, but takes a *dispatch.Frame first, which means dispatch")
		return
	}
	c.pass.ExportObjectFact(obj, &mark)
}

func asFunc(obj types.Object) *types.Func {
	fn, _ := obj.(*types.Func)
	return fn
}

// directiveText is a directive's line without a comment behind it.
func directiveText(comment *ast.Comment) string {
	text, _, _ := strings.Cut(comment.Text, " // ")
	return strings.TrimSpace(text)
}

func typeOf(obj types.Object) types.Type {
	if obj == nil {
		return nil
	}
	return obj.Type()
}

func (c *checker) checkComment(comment *ast.Comment, used map[*ast.Comment]bool) {
	switch {
	case nearMark.MatchString(comment.Text) && !strings.HasPrefix(comment.Text, directive):
		c.report(comment.Pos(), ruleMark, "looks like a mark but is none: a mark starts with //level: without spaces")
	case !strings.HasPrefix(comment.Text, directive), strings.HasPrefix(comment.Text, directive+"allow"), used[comment]:
	default:
		c.report(comment.Pos(), ruleMark, "the mark belongs to no declaration: put it in the doc comment of what it marks, which has a name, or is a field or method of a type that has one")
	}
}

// checkSignatures holds the place of frames: first, alone, and never beside a context.
func (c *checker) checkSignatures() {
	for _, file := range c.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			typ, ok := n.(*ast.FuncType)
			if !ok || typ.Params == nil {
				return true
			}
			place := 0
			for _, field := range typ.Params.List {
				if isFrame(c.pass.TypesInfo.TypeOf(field.Type)) && place > 0 {
					c.report(field.Pos(), ruleMark, "a *dispatch.Frame is the first parameter, and the only one: the level is in the signature")
				}
				place += max(1, len(field.Names))
				if len(field.Names) > 1 && isFrame(c.pass.TypesInfo.TypeOf(field.Type)) {
					c.report(field.Pos(), ruleMark, "a function takes one *dispatch.Frame")
				}
			}
			return true
		})
	}
}
