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

func (r *reader) scenarios(n *node) error {
	if n.kind != expr.KindList || len(n.items) == 0 {
		return n.Invalid("scenarios is a list of at least one, not %s", n.kind)
	}
	for _, item := range n.items {
		s := plan.Scenario{Weight: 1}
		engine := ""
		var flow *node
		err := r.fields(item, "a scenario", map[string]func(*node) error{
			"name":   str(&s.Name),
			"weight": number(&s.Weight, 0, 1e9),
			"engine": oneOf(&engine, "http"),
			"flow":   func(n *node) error { flow = n; return nil },
		}, hooks)
		if err != nil {
			return err
		}
		if flow == nil {
			return item.Invalid("a scenario has a flow")
		}
		if s.Steps, err = r.flow(flow); err != nil {
			return err
		}
		r.Plan.Weight += s.Weight
		r.Plan.Scenarios = append(r.Plan.Scenarios, s)
	}
	if r.Plan.Weight <= 0 {
		return n.Invalid("the scenarios' weights add up to 0")
	}
	if r.RequestCount() == 0 {
		return n.Invalid("no scenario sends a request")
	}
	return nil
}

func (r *reader) flow(n *node) ([]plan.Step, error) {
	if n.kind != expr.KindList {
		return nil, n.Invalid("a flow is a list of steps, not %s", n.kind)
	}
	var steps []plan.Step
	for _, item := range n.items {
		if item.kind != expr.KindMap || len(item.fields) == 0 {
			return nil, item.Invalid("a step is a mapping such as get: {url: /}, not %s", describe(item))
		}
		s, err := r.step(item)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

var methods = []string{"get", "post", "put", "patch", "delete", "head", "options"}

// actions are what a step can do; its other fields say how.
var actions = append([]string{"think", "loop", "parallel", "log"}, methods...)

func (r *reader) step(n *node) (plan.Step, error) {
	var s plan.Step
	var err error
	known := map[string]func(*node) error{
		"think":    func(v *node) error { s.Think, err = r.think(n, v); return err },
		"loop":     func(v *node) error { s.Loop, err = r.loop(n, v); return err },
		"parallel": func(v *node) error { s.Parallel, err = r.parallel(n, v); return err },
		"log":      func(v *node) error { s.Log, err = r.log(v); return err },
		// These are read with what they belong to.
		"jitter": onlyWith(n, "think"), "limit": onlyWith(n, "parallel"),
		"count": onlyWith(n, "loop"), "over": onlyWith(n, "loop"), "whileTrue": onlyWith(n, "loop"),
		"loopValue": onlyWith(n, "loop"), "loopElement": onlyWith(n, "loop"),
	}
	for _, m := range methods {
		known[m] = func(v *node) error {
			s.Request, err = r.request(strings.ToUpper(m), v)
			return err
		}
	}
	if err := r.fields(n, "a step", known, hooks); err != nil {
		return s, err
	}
	done := 0
	for _, f := range n.fields {
		if slices.Contains(actions, f.name) {
			done++
		}
	}
	if done != 1 {
		return s, n.Invalid("a step does one thing, this one %d", done)
	}
	return s, nil
}

func onlyWith(n *node, other string) func(*node) error {
	return func(v *node) error {
		if n.get(other) == nil {
			return v.Invalid("this belongs to a %s", other)
		}
		return nil
	}
}

func (r *reader) log(n *node) (*expr.Template, error) {
	var text string
	if err := str(&text)(n); err != nil {
		return nil, err
	}
	t, err := r.compileTemplate(n, text, expr.AsText)
	return &t, err
}

// maxBranches bounds what one virtual user has under way at once; it is
// Artillery's own default.
const maxBranches = 100

func (r *reader) parallel(n, body *node) (*plan.Parallel, error) {
	if r.nested++; r.nested > 1 {
		return nil, body.Errorf(whittle.Unsupported, "parallel within parallel is not supported")
	}
	defer func() { r.nested-- }()
	branches, err := r.flow(body)
	if err != nil {
		return nil, err
	}
	if len(branches) > maxBranches {
		return nil, body.Invalid("more than %d steps in parallel", maxBranches)
	}
	p := &plan.Parallel{Branches: branches, Limit: maxBranches}
	if limit := n.get("limit"); limit != nil {
		return p, whole(&p.Limit, 1, maxBranches)(limit)
	}
	return p, nil
}
