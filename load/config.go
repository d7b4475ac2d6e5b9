package load

import (
	"strings"
	"time"

	"whittle"
)

const javaScript = "it is JavaScript, and whittle runs the declarative parts of a plan only"

// config reads the section of that name, and over it what the chosen
// environment says.
func (r *reader) config(n *node) error {
	var environments *node
	if err := r.settings(n, "config", func(n *node) error { environments = n; return nil }); err != nil {
		return err
	}
	if err := r.environment(n, environments); err != nil {
		return err
	}
	for i := range r.plan.Phases {
		r.plan.Phases[i].Poisson = r.mode == "poisson"
	}
	return nil
}

func (r *reader) environment(config, all *node) error {
	name := r.source.Environment
	if name == "" {
		return nil
	}
	if all == nil || all.kind != kindMap {
		return config.invalid("the plan has no environments, so none is named %q", name)
	}
	chosen := all.get(name)
	if chosen == nil {
		return all.invalid("no environment is named %q", name)
	}
	if chosen.get("phases") != nil {
		r.plan.Phases = nil
	}
	return r.settings(chosen, "an environment", func(n *node) error {
		return n.invalid("an environment has no environments of its own")
	})
}

func (r *reader) settings(n *node, what string, environments func(*node) error) error {
	return r.fields(n, what, map[string]func(*node) error{
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
		"environments": environments,
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

// fixed reads a text whose templates, if any, are the same for every virtual
// user: those of the environment.
func (r *reader) fixed(n *node, what string) (string, error) {
	var text string
	if err := str(&text)(n); err != nil {
		return "", err
	}
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	for _, env := range []string{"$env.", "$processEnvironment."} {
		inner, ok := lone(text)
		if name, is := strings.CutPrefix(strings.TrimSpace(inner), env); ok && is && isName(name) {
			return r.source.getenv(name), nil
		}
	}
	return "", n.errorf(whittle.Unsupported, "a template in %s is not supported, except {{ $env.NAME }} alone", what)
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
	var sockets int
	var extended bool
	return r.fields(n, "config.http", map[string]func(*node) error{
		"timeout":         r.timeout,
		"pool":            whole(&h.Pool, 1, maxPool),
		"defaults":        r.defaults,
		"maxSockets":      whole(&sockets, 1, maxPool), // a user asks one thing at a time, so one socket always does
		"extendedMetrics": boolean(&extended),          // whittle measures them always
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
	}, map[string]string{
		"cookie": "give a cookie header instead", "strictCapture": "captures are not taken",
		"think": "think times have no jitter",
	})
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
			val, err := r.valueOf(item)
			if err != nil {
				return err
			}
			v.choices = append(v.choices, val)
		}
		r.plan.variables = append(r.plan.variables, v)
	}
	return nil
}

// valueOf makes a variable's value of a constant.
func (r *reader) valueOf(n *node) (value, error) {
	t, err := r.json(n)
	if err != nil {
		return value{}, err
	}
	js, ok := t.constant()
	if !ok {
		// Values of the environment are fixed, though written as a template.
		text, err := r.fixed(n, "a variable")
		return textValue(text), err
	}
	switch n.kind {
	case kindString:
		return value{n.text, js}, nil
	case kindNumber, kindBool:
		return value{n.text, n.text}, nil
	}
	return value{js, js}, nil
}
