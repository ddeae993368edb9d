package levelcheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// routes are the ways from Dispatch to a statement that must not be there. In a negative package the functions whose
// names start like this take them.
var routes = []string{"direct", "throughInterface", "throughValue", "throughClosure", "throughGenericFunc", "throughGenericType"}

// negatives says of each rule which package of testdata breaks it on every route, and by which words a diagnostic is
// known to be about it, whatever rule the last step of the way breaks.
var negatives = map[string]struct{ dir, words string }{
	ruleRaise:   {"routes/raise", "raises although"},
	rulePassive: {"routes/passive", "wait, which is passive"},
	ruleBlocks:  {"routes/blocks", "low.Wait, which blocks"},
	ruleDynamic: {"routes/dynamic", "function value fn"},
	ruleConvert: {"routes/convert", "[convert]"},
	ruleChannel: {"routes/channel", "sends on a channel"},
	ruleLock:    {"routes/lock", "Mutex.Lock can wait"},
	ruleSleep:   {"routes/sleep", "time.Sleep"},
	ruleGo:      {"routes/gostmt", "starts a goroutine"},
	ruleDefer:   {"routes/deferred", "defers in a loop"},
	ruleLoop:    {"routes/loop", "loops, and not"},
	rulePool:    {"routes/pool", "uses a sync.Pool"},
	ruleCgo:     {"routes/cgo", "calls C.idle"},
	ruleStd:     {"routes/std", "fmt.Println"},
	ruleNoAlloc: {"noalloc", "[noalloc]"},
}

// routeless are the rules about which no call leads to anything.
var routeless = map[string]string{
	ruleMark:  "is about comments and signatures; testdata/mark",
	ruleAllow: "is about comments; testdata/allow",
}

// TestRoutes holds that there is a rule for each name, and a negative package for every rule and route.
func TestRoutes(t *testing.T) {
	known := append(slices.Collect(maps.Keys(negatives)), slices.Collect(maps.Keys(routeless))...)
	for _, rule := range append(ruleNames(), ruleMark, ruleAllow) {
		if !slices.Contains(known, rule) {
			t.Errorf("rule %s: no negative package, and no reason why there is none", rule)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(negatives)) {
		n := negatives[rule]
		wanted := wants(t, "testdata/"+n.dir)
		for _, route := range routes {
			found := slices.ContainsFunc(wanted, func(w want) bool {
				return strings.HasPrefix(w.function, route) && strings.Contains(w.text, n.words) &&
					(route != "direct" || strings.HasPrefix(w.text, "["+rule+"]"))
			})
			if !found {
				t.Errorf("rule %s: no line in a function of testdata/%s whose name starts with %s wants a diagnostic with %q", rule, n.dir, route, n.words)
			}
		}
	}
}

// want is what a line of a negative package wants to be told.
type want struct{ function, text string }

var wantText = regexp.MustCompile("[`\"]([^`\"]*)[`\"]")

func wants(t *testing.T, dir string) []want {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), dir, nil, parser.ParseComments)
	if err != nil || len(packages) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	var found []want
	for _, p := range packages {
		for _, file := range p.Files {
			for _, group := range file.Comments {
				for _, comment := range group.List {
					_, text, ok := strings.Cut(comment.Text, "// want ")
					if !ok {
						continue
					}
					for _, m := range wantText.FindAllStringSubmatch(text, -1) {
						found = append(found, want{functionAt(file, comment.Pos()), strings.ReplaceAll(m[1], `\`, "")})
					}
				}
			}
		}
	}
	return found
}

// functionAt names the function around pos, a method by its type.
func functionAt(file *ast.File, pos token.Pos) string {
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || pos < fn.Pos() || fn.End() < pos {
			continue
		}
		if fn.Recv == nil {
			return fn.Name.Name
		}
		typ := fn.Recv.List[0].Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		if index, ok := typ.(*ast.IndexExpr); ok {
			typ = index.X
		}
		return typ.(*ast.Ident).Name
	}
	return ""
}
