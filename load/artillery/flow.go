package artillery

import (
	"slices"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// hooks call functions of a plan's processor.
var hooks = map[string]string{
	"beforeRequest": javaScript, "afterResponse": javaScript, "beforeScenario": javaScript,
	"afterScenario": javaScript, "onError": javaScript, "function": javaScript,
}

func (r *reader) scenarios(n *node) {
	if n.kind != expr.KindList || len(n.items) == 0 {
		panic(n.Invalid("scenarios is a list of at least one, not %s", n.kind))
	}
	for _, item := range n.items {
		s := plan.Scenario{Weight: 1}
		engine := ""
		var flow *node
		r.fields(item, "a scenario", map[string]func(*node){
			"name":   str(&s.Name),
			"weight": number(&s.Weight, 0, 1e9),
			"engine": oneOf(&engine, "http"),
			"flow":   func(n *node) { flow = n },
		}, hooks)
		if flow == nil {
			panic(item.Invalid("a scenario has a flow"))
		}
		s.Steps = r.flow(flow)
		r.Plan.Weight += s.Weight
		r.Plan.Scenarios = append(r.Plan.Scenarios, s)
	}
	if r.Plan.Weight <= 0 {
		panic(n.Invalid("the scenarios' weights add up to 0"))
	}
	if r.RequestCount() == 0 {
		panic(n.Invalid("no scenario sends a request"))
	}
}

func (r *reader) flow(n *node) []plan.Step {
	if n.kind != expr.KindList {
		panic(n.Invalid("a flow is a list of steps, not %s", n.kind))
	}
	var steps []plan.Step
	for _, item := range n.items {
		if item.kind != expr.KindMap || len(item.fields) == 0 {
			panic(item.Invalid("a step is a mapping such as get: {url: /}, not %s", describe(item)))
		}
		steps = append(steps, r.step(item))
	}
	return steps
}

var methods = []string{"get", "post", "put", "patch", "delete", "head", "options"}

// actions are what a step can do; its other fields say how.
var actions = append([]string{"think", "loop", "parallel", "log"}, methods...)

func (r *reader) step(n *node) plan.Step {
	var s plan.Step
	known := map[string]func(*node){
		"think":    func(v *node) { s.Think = r.think(n, v) },
		"loop":     func(v *node) { s.Loop = r.loop(n, v) },
		"parallel": func(v *node) { s.Parallel = r.parallel(n, v) },
		"log":      func(v *node) { s.Log = r.log(v) },
		// These are read with what they belong to.
		"jitter": onlyWith(n, "think"), "limit": onlyWith(n, "parallel"),
		"count": onlyWith(n, "loop"), "over": onlyWith(n, "loop"), "whileTrue": onlyWith(n, "loop"),
		"loopValue": onlyWith(n, "loop"), "loopElement": onlyWith(n, "loop"),
	}
	for _, m := range methods {
		known[m] = func(v *node) {
			s.Request = r.request(strings.ToUpper(m), v)
		}
	}
	r.fields(n, "a step", known, hooks)
	done := 0
	for _, f := range n.fields {
		if slices.Contains(actions, f.name) {
			done++
		}
	}
	if done != 1 {
		panic(n.Invalid("a step does one thing, this one %d", done))
	}
	return s
}

func onlyWith(n *node, other string) func(*node) {
	return func(v *node) {
		if n.get(other) == nil {
			panic(v.Invalid("this belongs to a %s", other))
		}
	}
}

func (r *reader) log(n *node) *expr.Template {
	t := r.text(n)
	return &t
}

// maxBranches bounds what one virtual user has under way at once; it is
// Artillery's own default.
const maxBranches = 100

func (r *reader) parallel(n, body *node) *plan.Parallel {
	if r.nested++; r.nested > 1 {
		panic(body.Errorf(whittle.Unsupported, "parallel within parallel is not supported"))
	}
	defer func() { r.nested-- }()
	branches := r.flow(body)
	if len(branches) > maxBranches {
		panic(body.Invalid("more than %d steps in parallel", maxBranches))
	}
	p := &plan.Parallel{Branches: branches, Limit: maxBranches}
	if limit := n.get("limit"); limit != nil {
		whole(&p.Limit, 1, maxBranches)(limit)
	}
	return p
}
