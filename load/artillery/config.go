package artillery

import (
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

const javaScript = "it is JavaScript, and whittle runs the declarative parts of a plan only"

// config reads the section of that name, with what the chosen environment says
// put over it.
func (r *reader) config(n *node) error {
	var environments *node
	if n.kind == expr.KindMap {
		environments = n.get("environments")
	}
	chosen, err := r.environment(n, environments)
	if err != nil {
		return err
	}
	if err := r.settings(overlay(n, chosen)); err != nil {
		return err
	}
	r.useDefaults()
	for i := range r.Plan.Phases {
		r.Plan.Phases[i].Poisson = r.mode == "poisson"
	}
	return nil
}

func (r *reader) environment(config, all *node) (*node, error) {
	name := r.Source.Environment
	if name == "" {
		return nil, nil
	}
	if all == nil || all.kind != expr.KindMap {
		return nil, config.Invalid("the plan has no environments, so none is named %q", name)
	}
	chosen := all.get(name)
	if chosen == nil {
		return nil, all.Invalid("no environment is named %q", name)
	}
	if chosen.kind == expr.KindMap && chosen.get("environments") != nil {
		return nil, chosen.get("environments").Invalid("an environment has no environments of its own")
	}
	return chosen, nil
}

// overlay puts one mapping over another, and so their mappings; anything else
// is replaced whole.
func overlay(under, over *node) *node {
	if over == nil || over.kind == expr.KindNull || under == nil {
		return under
	}
	if under.kind != expr.KindMap || over.kind != expr.KindMap {
		return over
	}
	both := *under
	both.fields = append([]field(nil), under.fields...)
next:
	for _, f := range over.fields {
		for i := range both.fields {
			if both.fields[i].name == f.name {
				f.value = overlay(both.fields[i].value, f.value)
				both.fields[i] = f
				continue next
			}
		}
		both.fields = append(both.fields, f)
	}
	return &both
}

func (r *reader) settings(n *node) error {
	return r.fields(n, "config", map[string]func(*node) error{
		"target":       r.target,
		"phases":       r.phases,
		"mode":         oneOf(&r.mode, "uniform", "poisson"),
		"http":         r.http,
		"tls":          r.tls,
		"variables":    r.variables,
		"payload":      r.payloads,
		"defaults":     r.defaultsInto(&r.legacyDefaults, "config.defaults"),
		"ensure":       r.ensure,
		"plugins":      r.plugins,
		"environments": func(*node) error { return nil }, // read before all else
		"apdex":        r.apdex,
		"name":         func(*node) error { return nil },
		"headers":      r.ignored("config.headers", headersAdvice),
	}, map[string]string{
		"processor":     javaScript,
		"engines":       "whittle speaks HTTP only",
		"ws":            "whittle speaks HTTP only",
		"socketio":      "whittle speaks HTTP only",
		"statsInterval": "progress is reported each second",
	})
}

func oneOf(into *string, words ...string) func(*node) error {
	return func(n *node) error {
		for _, w := range words {
			if n.kind == expr.KindString && n.text == w {
				*into = w
				return nil
			}
		}
		return n.Invalid("%s is wanted here, not %s", strings.Join(words, " or "), describe(n))
	}
}

func (r *reader) target(n *node) error {
	text, err := r.fixed(n, "the target")
	if err != nil {
		return err
	}
	if _, err := plan.ParseBase(text); err != nil {
		return n.Invalid("%v", err)
	}
	r.Plan.Target = text
	return nil
}

// fixed reads a text whose expressions, if any, are the same for every virtual
// user: those of the environment.
func (r *reader) fixed(n *node, what string) (string, error) {
	t, err := r.text(n)
	if err != nil {
		return "", err
	}
	text, ok := t.Constant()
	if !ok {
		return "", n.Errorf(whittle.Unsupported, "an expression in %s is not supported, except $env, $environment and $testId", what)
	}
	return text, nil
}

func (r *reader) phases(n *node) error {
	if n.kind != expr.KindList {
		return n.Invalid("phases is a list, not %s", n.kind)
	}
	for _, item := range n.items {
		ph, err := r.phase(item)
		if err != nil {
			return err
		}
		r.Plan.Phases = append(r.Plan.Phases, ph)
	}
	if plan.TotalLength(r.Plan.Phases) > plan.MaxDuration {
		return n.Invalid("the phases take longer than %v", plan.MaxDuration)
	}
	return nil
}

func (r *reader) phase(n *node) (plan.Phase, error) {
	var ph plan.Phase
	var pause time.Duration
	err := r.fields(n, "a phase", map[string]func(*node) error{
		"name":         str(&ph.Name),
		"duration":     duration(&ph.Duration, plan.MaxDuration),
		"arrivalRate":  number(&ph.Rate, 0, plan.MaxRate),
		"rampTo":       number(&ph.RampTo, 0, plan.MaxRate),
		"arrivalCount": whole(&ph.Count, 0, 1e9),
		"pause":        duration(&pause, plan.MaxDuration),
		"maxVusers":    whole(&ph.MaxUsers, 1, plan.MaxUsers),
	}, nil)
	if err != nil {
		return ph, err
	}
	rate, count, paused := n.get("arrivalRate") != nil, n.get("arrivalCount") != nil, n.get("pause") != nil
	ph.Ramp, ph.HasCount = n.get("rampTo") != nil, count
	switch {
	case paused && (rate || count || ph.Ramp || n.get("duration") != nil):
		return ph, n.Invalid("a phase with pause has no duration and no arrivals")
	case paused:
		ph.Duration = pause
		return ph, nil
	case rate && count:
		return ph, n.Invalid("a phase has either arrivalRate or arrivalCount")
	case ph.Ramp && !rate:
		return ph, n.Invalid("rampTo needs the arrivalRate that it starts from")
	case !rate && !count:
		return ph, n.Invalid("a phase has arrivalRate, arrivalCount or pause")
	case ph.Duration == 0:
		return ph, n.Invalid("a phase with arrivals has a duration above 0")
	}
	return ph, nil
}

func (r *reader) http(n *node) error {
	h := &r.Plan.HTTP
	var extended bool
	return r.fields(n, "config.http", map[string]func(*node) error{
		"timeout":         r.timeout,
		"pool":            whole(&h.Pool, 1, plan.MaxPool),
		"defaults":        r.defaultsInto(&r.httpDefaults, "config.http.defaults"),
		"headers":         r.ignored("config.http.headers", headersAdvice),
		"maxSockets":      whole(&h.Sockets, 1, plan.MaxPool),
		"extendedMetrics": boolean(&extended), // whittle measures them always
	}, nil)
}

func (r *reader) timeout(n *node) error {
	h := &r.Plan.HTTP
	if err := duration(&h.Timeout, plan.MaxTimeout)(n); err != nil {
		return err
	}
	if h.Timeout == 0 {
		return n.Invalid("a timeout is above 0")
	}
	return nil
}

func (r *reader) tls(n *node) error {
	verify := true
	err := r.fields(n, "config.tls", map[string]func(*node) error{"rejectUnauthorized": boolean(&verify)}, nil)
	r.Plan.HTTP.Insecure = !verify
	return err
}

func (r *reader) variables(n *node) error {
	if n.kind != expr.KindMap {
		return n.Invalid("variables is a mapping, not %s", n.kind)
	}
	for _, f := range n.fields {
		if !expr.IsName(f.name) {
			return f.Errorf(whittle.Invalid, "%q is not a variable's name", f.name)
		}
		v := plan.Variable{Slot: r.Define(f.name)}
		items := f.value.items
		if f.value.kind != expr.KindList {
			items = []*node{f.value}
		}
		if len(items) == 0 {
			return f.value.Invalid("%s has no value to choose from", f.name)
		}
		for _, item := range items {
			if err := r.choice(&v, item); err != nil {
				return err
			}
		}
		r.Plan.Variables = append(r.Plan.Variables, v)
	}
	return nil
}

// choice reads one value of a variable: a constant, or a text with expressions
// that is rendered for each virtual user.
func (r *reader) choice(v *plan.Variable, n *node) error {
	t, err := r.json(n)
	if err != nil {
		return err
	}
	val := expr.Value{}
	if _, ok := t.Constant(); ok {
		if val, err = r.valueOf(n); err != nil {
			return err
		}
		t = nil
	}
	v.Choices = append(v.Choices, val)
	if v.Texts == nil && t != nil {
		v.Texts = make([]expr.Template, len(v.Choices)-1, len(v.Choices))
	}
	if v.Texts != nil {
		v.Texts = append(v.Texts, t)
	}
	return nil
}

// valueOf makes a variable's value of a constant.
func (r *reader) valueOf(n *node) (expr.Value, error) {
	t, err := r.json(n)
	if err != nil {
		return expr.Value{}, err
	}
	js, ok := t.Constant()
	if !ok {
		return expr.Value{}, n.Errorf(whittle.Unsupported, "an expression is not supported here")
	}
	if n.kind == expr.KindString {
		return expr.Value{Text: n.text, JSON: js}, nil
	}
	d, ok := expr.ParseDocument(js)
	if !ok {
		return expr.Value{}, n.Invalid("%s cannot be written as JSON", describe(n))
	}
	return d.Value(), nil
}
