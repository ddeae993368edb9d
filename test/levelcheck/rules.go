package levelcheck

import (
	"go/ast"
	"slices"
)

// A rule is one thing that Dispatch does not allow. It looks at every node of a body, at every call, or at both.
// The first rule that answers true for a call has dealt with it; later ones are not asked.
type rule struct {
	name  string
	visit func(b *body, n ast.Node)
	call  func(b *body, call *ast.CallExpr, t target) bool
}

// Names of rules, as diagnostics and exemptions write them. What each means stands in doc.go.
const (
	ruleMark  = "mark"
	ruleAllow = "allow"

	ruleRaise   = "raise"
	rulePassive = "passive"
	ruleBlocks  = "blocks"
	ruleDynamic = "dynamic"
	ruleConvert = "convert"
	ruleChannel = "channel"
	ruleLock    = "lock"
	ruleSleep   = "sleep"
	ruleGo      = "go"
	ruleDefer   = "defer"
	ruleLoop    = "loop"
	rulePool    = "pool"
	ruleCgo     = "cgo"
	ruleStd     = "std"
	ruleNoAlloc = "noalloc"
)

// allRules are in the order in which they are asked about a call, the particular before the general.
func allRules() []rule {
	return []rule{
		{name: ruleChannel, visit: visitChannel},
		{name: ruleDefer, visit: visitDefer},
		{name: ruleGo, visit: visitGo, call: callGo},
		{name: ruleRaise, visit: visitRaise, call: callRaise},
		{name: ruleLock, call: callLock},
		{name: ruleSleep, call: callSleep},
		{name: rulePool, call: callPool},
		{name: ruleCgo, call: callCgo},
		{name: rulePassive, call: callPassive},
		{name: ruleDynamic, visit: visitDynamic, call: callDynamic},
		{name: ruleStd, call: callStd},
		{name: ruleBlocks, call: callBlocks},
	}
}

// ruleNames lists the rules from which there can be an exemption.
func ruleNames() []string {
	var names []string
	for _, r := range allRules() {
		names = append(names, r.name)
	}
	return append(names, ruleLoop, ruleConvert, ruleNoAlloc)
}

func exemptible(name string) bool { return slices.Contains(ruleNames(), name) }
