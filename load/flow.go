package load

import (
	"slices"
	"strings"

	"whittle"
)

// hooks call functions of a plan's processor.
var hooks = map[string]string{
	"beforeRequest": javaScript, "afterResponse": javaScript, "beforeScenario": javaScript,
	"afterScenario": javaScript, "onError": javaScript, "function": javaScript,
}

func (r *reader) scenarios(n *node) error {
	if n.kind != kindList || len(n.items) == 0 {
		return n.invalid("scenarios is a list of at least one, not %s", n.kind)
	}
	for _, item := range n.items {
		s := scenario{weight: 1}
		engine := ""
		var flow *node
		err := r.fields(item, "a scenario", map[string]func(*node) error{
			"name":   str(&s.name),
			"weight": number(&s.weight, 0, 1e9),
			"engine": oneOf(&engine, "http"),
			"flow":   func(n *node) error { flow = n; return nil },
		}, hooks)
		if err != nil {
			return err
		}
		if flow == nil {
			return item.invalid("a scenario has a flow")
		}
		if s.steps, err = r.flow(flow); err != nil {
			return err
		}
		r.plan.weight += s.weight
		r.plan.scenarios = append(r.plan.scenarios, s)
	}
	if r.plan.weight <= 0 {
		return n.invalid("the scenarios' weights add up to 0")
	}
	if len(r.names) == 0 {
		return n.invalid("no scenario sends a request")
	}
	return nil
}

func (r *reader) flow(n *node) ([]step, error) {
	if n.kind != kindList {
		return nil, n.invalid("a flow is a list of steps, not %s", n.kind)
	}
	var steps []step
	for _, item := range n.items {
		if item.kind != kindMap || len(item.fields) == 0 {
			return nil, item.invalid("a step is a mapping such as get: {url: /}, not %s", describe(item))
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

func (r *reader) step(n *node) (step, error) {
	var s step
	var err error
	known := map[string]func(*node) error{
		"think":    func(v *node) error { s.think, err = r.think(n, v); return err },
		"loop":     func(v *node) error { s.loop, err = r.loop(n, v); return err },
		"parallel": func(v *node) error { s.parallel, err = r.parallel(n, v); return err },
		"log":      func(v *node) error { s.log, err = r.log(v); return err },
		// These are read with what they belong to.
		"jitter": onlyWith(n, "think"), "limit": onlyWith(n, "parallel"),
		"count": onlyWith(n, "loop"), "over": onlyWith(n, "loop"), "whileTrue": onlyWith(n, "loop"),
		"loopValue": onlyWith(n, "loop"), "loopElement": onlyWith(n, "loop"),
	}
	for _, m := range methods {
		known[m] = func(v *node) error {
			s.request, err = r.request(strings.ToUpper(m), v)
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
		return s, n.invalid("a step does one thing, this one %d", done)
	}
	return s, nil
}

func onlyWith(n *node, other string) func(*node) error {
	return func(v *node) error {
		if n.get(other) == nil {
			return v.invalid("this belongs to a %s", other)
		}
		return nil
	}
}

func (r *reader) log(n *node) (*template, error) {
	var text string
	if err := str(&text)(n); err != nil {
		return nil, err
	}
	t, err := r.compileTemplate(n, text, asText)
	return &t, err
}

// maxBranches bounds what one virtual user has under way at once; it is
// Artillery's own default.
const maxBranches = 100

func (r *reader) parallel(n, body *node) (*parallel, error) {
	if r.nested++; r.nested > 1 {
		return nil, body.errorf(whittle.Unsupported, "parallel within parallel is not supported")
	}
	defer func() { r.nested-- }()
	branches, err := r.flow(body)
	if err != nil {
		return nil, err
	}
	if len(branches) > maxBranches {
		return nil, body.invalid("more than %d steps in parallel", maxBranches)
	}
	p := &parallel{branches: branches, limit: maxBranches}
	if limit := n.get("limit"); limit != nil {
		return p, whole(&p.limit, 1, maxBranches)(limit)
	}
	return p, nil
}
