package artillery

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/script"
)

func (r *reader) scenarios(n *node) {
	if n.kind != expr.KindList || len(n.items) == 0 {
		panic(n.Invalid("scenarios is a list of at least one, not %s", n.kind))
	}
	only, chosen := r.only(), 0
	for _, item := range n.items {
		s := plan.Scenario{Weight: 1}
		s.Steps = r.scenarioFlow(item, "a scenario", map[string]func(*node){
			"name":   str(&s.Name),
			"weight": func(n *node) { s.Weight = r.weight(n) },
		})
		switch {
		case only == nil:
		case only(s.Name):
			s.Weight = 1
			chosen++
		default:
			s.Weight = 0
		}
		r.Plan.Weight += s.Weight
		r.Plan.Scenarios = append(r.Plan.Scenarios, s)
	}
	if only != nil && chosen != 1 {
		panic(n.Invalid("%d scenarios are named %q; wanted is one", chosen, r.Source.Scenario))
	}
	if r.Plan.Weight <= 0 {
		panic(n.Invalid("the scenarios' weights add up to 0"))
	}
	if r.RequestCount() == 0 {
		panic(n.Invalid("no scenario sends a request"))
	}
}

func (r *reader) flow(n *node) []plan.Step {
	var steps []plan.Step
	for _, item := range n.list("a flow is a list of steps") {
		if item.kind == expr.KindList { // of an anchor, which Artillery flattens
			steps = append(steps, r.flow(item)...)
			continue
		}
		if item.kind != expr.KindMap || len(item.fields) == 0 {
			panic(item.Invalid("a step is a mapping such as get: {url: /}, not %s", describe(item)))
		}
		if body := item.get("parallel"); body != nil {
			steps = append(steps, r.parallel(item, body)...)
			continue
		}
		if s, ok := r.step(item); ok {
			steps = append(steps, s)
		}
	}
	return steps
}

// scenarioFlow reads the flow of a scenario with its hooks; known are its other keys.
func (r *reader) scenarioFlow(n *node, what string, known map[string]func(*node)) []plan.Step {
	var flow *node
	var before, after []*script.Function
	r.scenario = scenarioHooks{}
	defer func() { r.scenario = scenarioHooks{} }()
	keys := map[string]func(*node){
		"engine":         r.engine,
		"flow":           func(n *node) { flow = n },
		"beforeScenario": r.hooks(&before), "afterScenario": r.hooks(&after),
		"beforeRequest": r.hooks(&r.scenario.beforeRequest), "afterResponse": r.hooks(&r.scenario.afterResponse),
		"onError": func(n *node) {
			panic(n.Invalid("onError is not supported: leave it out; the report counts errors by kind, with a sample of each"))
		},
	}
	maps.Copy(keys, known)
	if n.kind == expr.KindMap && n.get("engine") != nil {
		r.engine(n.get("engine")) // it explains all that follows
	}
	r.fields(n, what, keys)
	if flow == nil {
		panic(n.Invalid("%s has a flow", what))
	}
	steps := r.functionSteps(before)
	steps = append(steps, r.flow(flow)...)
	return append(steps, r.functionSteps(after)...)
}

// functionSteps makes steps of the hooks of a scenario.
func (r *reader) functionSteps(hooks []*script.Function) []plan.Step {
	var out []plan.Step
	for _, f := range hooks {
		out = append(out, plan.Step{Action: &functionStep{processor: r.processor, f: f, before: r.inBefore}})
	}
	return out
}

// engine reads which engine a flow is of: whittle has HTTP's.
func (r *reader) engine(n *node) {
	var name string
	if str(&name)(n); name != "http" {
		panic(n.Errorf(whittle.Unsupported, "the engine %s is not supported: whittle speaks HTTP only", name))
	}
}

// weight reads a scenario's weight: a whole number, of a text as much as is one.
func (r *reader) weight(n *node) float64 {
	setting := r.written(n)
	if setting == nil {
		setting = &node{Position: n.Position, kind: expr.KindString, text: "0"}
	}
	text := strings.TrimSpace(string(r.text(setting).Render(nil, &expr.Scope{})))
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	f, err := strconv.ParseFloat(text[:end], 64)
	if err != nil {
		r.note(n, "the weight %s is no number, and counts as 0, as for Artillery", describe(n))
	}
	return f
}

// only reports whether a scenario is the one that is asked for; nil: all are.
func (r *reader) only() func(name string) bool {
	wanted := r.Source.Scenario
	if wanted == "" {
		return nil
	}
	rx, err := regexp.Compile(wanted)
	if err != nil {
		rx = regexp.MustCompile(regexp.QuoteMeta(wanted))
	}
	return func(name string) bool { return name == wanted || rx.MatchString(name) }
}

var methods = []string{"get", "post", "put", "patch", "delete", "head", "options"}

// actions are what a step can do; its other fields say how.
var actions = append([]string{"think", "loop", "log", "function"}, methods...)

// step reads a step. False: it does nothing.
func (r *reader) step(n *node) (s plan.Step, ok bool) {
	ok = true
	known := map[string]func(*node){
		"think": func(v *node) { s.Think = r.think(n, v) },
		"loop":  func(v *node) { s.Loop = r.loop(n, v) },
		"log":   func(v *node) { t := r.text(v); s.Log = &t },
		// These are read with what they belong to.
		"jitter": onlyWith(n, "think"), "limit": onlyWith(n, "parallel"), "parallel": accepted, // read before
		"count": onlyWith(n, "loop"), "over": onlyWith(n, "loop"), "whileTrue": onlyWith(n, "loop"),
		"loopValue": onlyWith(n, "loop"), "loopElement": onlyWith(n, "loop"),
	}
	for _, m := range methods {
		known[m] = func(v *node) {
			s.Request = r.request(strings.ToUpper(m), v)
		}
	}
	known["function"] = func(v *node) {
		var name string
		str(&name)(v)
		if f := r.function(v, name); f != nil {
			s.Action = &functionStep{processor: r.processor, f: f, before: r.inBefore}
		} else {
			ok = false
		}
	}
	for _, f := range n.fields {
		if known[f.name] == nil {
			panic(f.Errorf(whittle.Invalid, "%s is not known in a step; %s", f.name, fieldNames(known)))
		}
	}
	r.fields(n, "a step", known)
	done := 0
	for _, f := range n.fields {
		if slices.Contains(actions, f.name) {
			done++
		}
	}
	if done != 1 {
		panic(n.Invalid("a step does one thing, this one %d", done))
	}
	return s, ok
}

func onlyWith(n *node, other string) func(*node) {
	return func(v *node) {
		if n.get(other) == nil {
			panic(v.Invalid("this belongs to a %s", other))
		}
	}
}

// parallel reads steps that are under way together where a user has several connections. As
// by Artillery, one that has a single one sends them one after the other.
func (r *reader) parallel(n, body *node) []plan.Step {
	if r.Plan.HTTP.Pool > 0 || r.sockets > 1 {
		panic(body.Errorf(whittle.Unsupported, "parallel with http.pool or an http.maxSockets above 1 is not supported: a user sends one request at a time"))
	}
	r.fields(n, "a parallel step", map[string]func(*node){"parallel": accepted, "limit": accepted})
	return r.flow(body)
}
