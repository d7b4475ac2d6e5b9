package load

import (
	"strings"
	"time"

	"whittle"
)

const javaScript = "it is JavaScript, and whittle runs the declarative parts of a plan only"

// config reads the section of that name, with what the chosen environment says
// put over it.
func (r *reader) config(n *node) error {
	var environments *node
	if n.kind == kindMap {
		environments = n.get("environments")
	}
	chosen, err := r.environment(n, environments)
	if err != nil {
		return err
	}
	if err := r.settings(overlay(n, chosen)); err != nil {
		return err
	}
	for i := range r.plan.Phases {
		r.plan.Phases[i].Poisson = r.mode == "poisson"
	}
	return nil
}

func (r *reader) environment(config, all *node) (*node, error) {
	name := r.source.Environment
	if name == "" {
		return nil, nil
	}
	if all == nil || all.kind != kindMap {
		return nil, config.invalid("the plan has no environments, so none is named %q", name)
	}
	chosen := all.get(name)
	if chosen == nil {
		return nil, all.invalid("no environment is named %q", name)
	}
	if chosen.kind == kindMap && chosen.get("environments") != nil {
		return nil, chosen.get("environments").invalid("an environment has no environments of its own")
	}
	return chosen, nil
}

// overlay puts one mapping over another, and so their mappings; anything else
// is replaced whole.
func overlay(under, over *node) *node {
	if over == nil || over.kind == kindNull || under == nil {
		return under
	}
	if under.kind != kindMap || over.kind != kindMap {
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
		"defaults":     r.defaults,
		"ensure":       r.ensure,
		"plugins":      r.plugins,
		"environments": func(*node) error { return nil }, // read before all else
		"apdex":        r.apdex,
		"name":         func(*node) error { return nil },
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
			if n.kind == kindString && n.text == w {
				*into = w
				return nil
			}
		}
		return n.invalid("%s is wanted here, not %s", strings.Join(words, " or "), describe(n))
	}
}

func (r *reader) target(n *node) error {
	text, err := r.fixed(n, "the target")
	if err != nil {
		return err
	}
	if _, err := parseEndpoint(text, false); err != nil {
		return n.invalid("%v", err)
	}
	r.plan.Target = text
	return nil
}

// fixed reads a text whose expressions, if any, are the same for every virtual
// user: those of the environment.
func (r *reader) fixed(n *node, what string) (string, error) {
	t, err := r.text(n)
	if err != nil {
		return "", err
	}
	text, ok := t.constant()
	if !ok {
		return "", n.errorf(whittle.Unsupported, "an expression in %s is not supported, except $env, $environment and $testId", what)
	}
	return text, nil
}

func (r *reader) phases(n *node) error {
	if n.kind != kindList {
		return n.invalid("phases is a list, not %s", n.kind)
	}
	for _, item := range n.items {
		ph, err := r.phase(item)
		if err != nil {
			return err
		}
		r.plan.Phases = append(r.plan.Phases, ph)
	}
	if planEnd(r.plan.Phases) > maxDuration {
		return n.invalid("the phases take longer than %v", maxDuration)
	}
	return nil
}

func (r *reader) phase(n *node) (Phase, error) {
	var ph Phase
	var pause time.Duration
	err := r.fields(n, "a phase", map[string]func(*node) error{
		"name":         str(&ph.Name),
		"duration":     duration(&ph.Duration, maxDuration),
		"arrivalRate":  number(&ph.Rate, 0, maxRate),
		"rampTo":       number(&ph.RampTo, 0, maxRate),
		"arrivalCount": whole(&ph.Count, 0, 1e9),
		"pause":        duration(&pause, maxDuration),
		"maxVusers":    whole(&ph.MaxUsers, 1, maxUsers),
	}, nil)
	if err != nil {
		return ph, err
	}
	rate, count, paused := n.get("arrivalRate") != nil, n.get("arrivalCount") != nil, n.get("pause") != nil
	ph.Ramp, ph.HasCount = n.get("rampTo") != nil, count
	switch {
	case paused && (rate || count || ph.Ramp || n.get("duration") != nil):
		return ph, n.invalid("a phase with pause has no duration and no arrivals")
	case paused:
		ph.Duration = pause
		return ph, nil
	case rate && count:
		return ph, n.invalid("a phase has either arrivalRate or arrivalCount")
	case ph.Ramp && !rate:
		return ph, n.invalid("rampTo needs the arrivalRate that it starts from")
	case !rate && !count:
		return ph, n.invalid("a phase has arrivalRate, arrivalCount or pause")
	case ph.Duration == 0:
		return ph, n.invalid("a phase with arrivals has a duration above 0")
	}
	return ph, nil
}

func (r *reader) http(n *node) error {
	h := &r.plan.HTTP
	var extended bool
	return r.fields(n, "config.http", map[string]func(*node) error{
		"timeout":         r.timeout,
		"pool":            whole(&h.Pool, 1, maxPool),
		"defaults":        r.defaults,
		"maxSockets":      whole(&h.sockets, 1, maxPool),
		"extendedMetrics": boolean(&extended), // whittle measures them always
	}, nil)
}

func (r *reader) timeout(n *node) error {
	h := &r.plan.HTTP
	if err := duration(&h.Timeout, maxTimeout)(n); err != nil {
		return err
	}
	if h.Timeout == 0 {
		return n.invalid("a timeout is above 0")
	}
	return nil
}

func (r *reader) tls(n *node) error {
	verify := true
	err := r.fields(n, "config.tls", map[string]func(*node) error{"rejectUnauthorized": boolean(&verify)}, nil)
	r.plan.HTTP.Insecure = !verify
	return err
}

// defaults reads config.defaults or config.http.defaults: a mapping or, in old
// plans, a list of mappings.
func (r *reader) defaults(n *node) error {
	if n.kind == kindList {
		for _, item := range n.items {
			if err := r.defaults(item); err != nil {
				return err
			}
		}
		return nil
	}
	return r.fields(n, "defaults", map[string]func(*node) error{
		"headers": func(n *node) error {
			hs, err := r.headers(n)
			r.plan.HTTP.headers = mergeHeaders(r.plan.HTTP.headers, hs)
			return err
		},
		"cookie": func(n *node) error { return r.cookie(&r.cookies, n) },
		"strictCapture": func(n *node) error {
			strict := true
			err := boolean(&strict)(n)
			r.lenient = !strict
			return err
		},
		"think": func(n *node) error {
			return r.fields(n, "think", map[string]func(*node) error{
				"jitter": func(n *node) error { return readJitter(n, &r.jitter, &r.jitterPart) },
			}, nil)
		},
	}, nil)
}

func (r *reader) variables(n *node) error {
	if n.kind != kindMap {
		return n.invalid("variables is a mapping, not %s", n.kind)
	}
	for _, f := range n.fields {
		if !isName(f.name) {
			return place(whittle.Invalid, n.file, f.line, f.col, "%q is not a variable's name", f.name)
		}
		v := variable{slot: r.define(f.name)}
		items := f.value.items
		if f.value.kind != kindList {
			items = []*node{f.value}
		}
		if len(items) == 0 {
			return f.value.invalid("%s has no value to choose from", f.name)
		}
		for _, item := range items {
			if err := r.choice(&v, item); err != nil {
				return err
			}
		}
		r.plan.variables = append(r.plan.variables, v)
	}
	return nil
}

// choice reads one value of a variable: a constant, or a text with expressions
// that is rendered for each virtual user.
func (r *reader) choice(v *variable, n *node) error {
	t, err := r.json(n)
	if err != nil {
		return err
	}
	val := value{}
	if _, ok := t.constant(); ok {
		if val, err = r.valueOf(n); err != nil {
			return err
		}
		t = nil
	}
	v.choices = append(v.choices, val)
	if v.texts == nil && t != nil {
		v.texts = make([]template, len(v.choices)-1, len(v.choices))
	}
	if v.texts != nil {
		v.texts = append(v.texts, t)
	}
	return nil
}

// pick fills the variable for one virtual user.
func (v *variable) pick(s *scope) {
	i := 0
	if len(v.choices) > 1 {
		i = s.rng.IntN(len(v.choices))
	}
	s.values[v.slot] = v.choices[i]
	if v.texts != nil && v.texts[i] != nil {
		if d, ok := parseDocument(string(v.texts[i].render(nil, s))); ok {
			s.values[v.slot] = d.value()
		}
	}
}

// valueOf makes a variable's value of a constant.
func (r *reader) valueOf(n *node) (value, error) {
	t, err := r.json(n)
	if err != nil {
		return value{}, err
	}
	js, ok := t.constant()
	if !ok {
		return value{}, n.errorf(whittle.Unsupported, "an expression is not supported here")
	}
	if n.kind == kindString {
		return value{text: n.text, json: js}, nil
	}
	d, ok := parseDocument(js)
	if !ok {
		return value{}, n.invalid("%s cannot be written as JSON", describe(n))
	}
	return d.value(), nil
}
