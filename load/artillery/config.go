package artillery

import (
	"math"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// config reads the section of that name.
func (r *reader) config(n *node) {
	r.fields(n, "config", map[string]func(*node){
		"target": r.readTarget,
		"phases": r.phases,
		"mode":   oneOf(&r.mode, "uniform", "poisson"),
		"http":   r.http,
		"tls": func(n *node) {
			verify := true
			r.fields(n, "config.tls", map[string]func(*node){"rejectUnauthorized": boolean(&verify)})
			r.Plan.HTTP.Insecure = !verify
		},
		"variables": r.variables,
		"payload": func(n *node) {
			for _, item := range n.each() {
				r.payload(item)
			}
		},
		"defaults":  r.defaultsInto(&r.legacyDefaults, "config.defaults"),
		"ensure":    r.ensure,
		"plugins":   r.plugins,
		"processor": r.loadProcessor,
		"engines": func(n *node) { // a flow of one is refused where it stands
			for _, f := range n.fields {
				r.note(n, "the engine %s is left out: whittle speaks HTTP only", f.name)
			}
		},
		"timeout": r.timeout,
		"apdex":   r.ignored("config.apdex", "use ensure"),
		"name":    func(*node) {},
		"headers": r.ignored("config.headers", headersAdvice),
		// These are for other engines, or for how Artillery itself runs.
		"ws": accepted, "socketio": accepted, "statsInterval": accepted, "bundling": accepted, "includeFiles": r.includeFiles,
	})
	r.useDefaults()
	for i := range r.Plan.Phases {
		r.Plan.Phases[i].Poisson = r.mode == "poisson"
	}
}

func accepted(*node) {}

func oneOf(into *string, words ...string) func(*node) {
	return func(n *node) {
		for _, w := range words {
			if n.kind == expr.KindString && n.text == w {
				*into = w
				return
			}
		}
		panic(n.Invalid("%s is wanted here, not %s", strings.Join(words, " or "), describe(n)))
	}
}

func (r *reader) readTarget(n *node) {
	if r.Source.Target != "" {
		return // another stands in its place
	}
	text := r.fixed(n, "the target")
	if _, err := plan.ParseBase(text); err != nil {
		panic(n.Invalid("%v", err))
	}
	r.Plan.Target = text
}

// fixed reads a text whose expressions, if any, are the same for every virtual
// user: those of the environment.
func (r *reader) fixed(n *node, what string) string {
	t := r.text(n)
	text, ok := t.Constant()
	if !ok {
		panic(n.Errorf(whittle.Unsupported, "an expression in %s is not supported, except $env, $environment and $testId", what))
	}
	return text
}

func (r *reader) phases(n *node) {
	for _, item := range n.list("phases is a list") {
		r.Plan.Phases = append(r.Plan.Phases, r.phase(item))
	}
	if plan.TotalLength(r.Plan.Phases) > plan.MaxDuration {
		panic(n.Invalid("the phases take longer than %v", plan.MaxDuration))
	}
}

func (r *reader) phase(n *node) plan.Phase {
	var ph plan.Phase
	var pause time.Duration
	r.fields(n, "a phase", map[string]func(*node){
		"name":         str(&ph.Name),
		"duration":     duration(&ph.Duration, plan.MaxDuration),
		"arrivalRate":  number(&ph.Rate, 0, plan.MaxRate),
		"rampTo":       number(&ph.RampTo, 0, plan.MaxRate),
		"arrivalCount": whole(&ph.Count, 0, 1e9),
		"pause":        duration(&pause, plan.MaxDuration),
		"maxVusers":    whole(&ph.MaxUsers, 1, plan.MaxUsers),
	})
	rate, count, paused := n.get("arrivalRate") != nil, n.get("arrivalCount") != nil, n.get("pause") != nil
	ph.Ramp, ph.HasCount = n.get("rampTo") != nil, count
	switch {
	case paused && (rate || count || ph.Ramp || n.get("duration") != nil):
		panic(n.Invalid("a phase with pause has no duration and no arrivals"))
	case paused:
		ph.Duration = pause
		return ph
	case rate && count:
		panic(n.Invalid("a phase has either arrivalRate or arrivalCount"))
	case ph.Ramp && !rate:
		panic(n.Invalid("rampTo needs the arrivalRate that it starts from"))
	case !rate && !count:
		panic(n.Invalid("a phase has arrivalRate, arrivalCount or pause"))
	case ph.Duration == 0:
		panic(n.Invalid("a phase with arrivals has a duration above 0"))
	}
	return ph
}

func (r *reader) http(n *node) {
	h := &r.Plan.HTTP
	var extended bool
	r.fields(n, "config.http", map[string]func(*node){
		"timeout":         r.timeout,
		"pool":            whole(&h.Pool, 1, plan.MaxPool),
		"defaults":        r.defaultsInto(&r.httpDefaults, "config.http.defaults"),
		"headers":         r.ignored("config.http.headers", headersAdvice),
		"maxSockets":      whole(&r.sockets, 1, plan.MaxPool),
		"extendedMetrics": boolean(&extended), // whittle measures them always
	})
}

func (r *reader) timeout(n *node) {
	h := &r.Plan.HTTP
	duration(&h.Timeout, math.MaxInt64)(n)
	if h.Timeout > plan.MaxTimeout {
		r.note(n, "a timeout of %s is longer than %v, and counts as that: a number is of seconds", n.text, plan.MaxTimeout)
		h.Timeout = plan.MaxTimeout
	}
	if h.Timeout == 0 {
		panic(n.Invalid("a timeout is above 0"))
	}
}

func (r *reader) variables(n *node) {
	for _, f := range n.mapping("variables is a mapping") {
		if !expr.IsName(f.name) {
			panic(f.Errorf(whittle.Invalid, "%q is not a variable's name", f.name))
		}
		v := plan.Variable{Slot: r.Define(f.name)}
		items := f.value.each()
		if len(items) == 0 {
			panic(f.value.Invalid("%s has no value to choose from", f.name))
		}
		for _, item := range items {
			r.choice(&v, item)
		}
		r.Plan.Variables = append(r.Plan.Variables, v)
	}
}

// choice reads one value of a variable: a constant, or a text with expressions
// that is rendered for each virtual user.
func (r *reader) choice(v *plan.Variable, n *node) {
	t := r.json(n)
	val := expr.Value{}
	if _, ok := t.Constant(); ok {
		val = r.valueOf(n)
		t = nil
	}
	v.Choices = append(v.Choices, val)
	if v.Texts == nil && t != nil {
		v.Texts = make([]expr.Template, len(v.Choices)-1, len(v.Choices))
	}
	if v.Texts != nil {
		v.Texts = append(v.Texts, t)
	}
}

// valueOf makes a variable's value of a constant.
func (r *reader) valueOf(n *node) expr.Value {
	t := r.json(n)
	js, ok := t.Constant()
	if !ok {
		panic(n.Errorf(whittle.Unsupported, "an expression is not supported here"))
	}
	if n.kind == expr.KindString {
		return expr.Value{Text: n.text, JSON: js}
	}
	d, ok := expr.ParseDocument(js)
	if !ok {
		panic(n.Invalid("%s cannot be written as JSON", describe(n)))
	}
	return d.Value()
}
