package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"whittle"
)

const (
	maxGates   = 16
	maxNotices = 32
)

// hook reads a webhook: its URL (url, or url_file or url_env where it is a secret), the key
// that signs, and the timeout. It reports whether there is a URL. No message shows the URL.
func (r *reader) hook(o *object, h *whittle.Hook, files folder) bool {
	h.Timeout = 10 * time.Second
	plain := read(o, "url", "a URL such as https://ci.example/gate", &h.URL, parseHook)
	text, field, given := r.kept(o, "url", files)
	switch {
	case plain && given:
		r.failField(o.path, "has its URL from more than one place; keep one of url, url_file and url_env")
	case field != "":
		var err error
		if h.URL, err = parseHook(text); err != nil {
			r.failField(field, "%v", err)
		}
	}
	r.secret(o, "key", &h.Key, files)
	o.duration("timeout", &h.Timeout, 10*time.Millisecond, time.Minute)
	return plain || given || r.failed(o.sub("url"))
}

// parseHook reads a URL that may be a secret, so that no message shows it.
func parseHook(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", errors.New("is not a URL: write https://HOST/PATH")
	case !portIsFine(u):
		return "", errors.New("has a port that is not a number from 1 to 65535")
	case hostFault(u.Hostname()) != "":
		return "", errors.New("has a host that " + hostFault(u.Hostname()))
	case u.User != nil:
		return "", errors.New("has a user or a password in it, which is not taken")
	case u.Fragment != "":
		return "", errors.New("has a fragment, which has no meaning here")
	}
	return s, nil
}

// hostOf is the part of a hook's URL that may be shown.
func hostOf(h *whittle.Hook) string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return "?"
	}
	return u.Scheme + "://" + u.Host + "/…"
}

var moments = []whittle.GateMoment{whittle.GateFirst, whittle.GateStep, whittle.GateLive, whittle.GateRollback}

// gates reads the gates that a rise waits for.
func (r *reader) gates(o *object, p *whittle.Rollout, files folder) {
	o.list("gates", "[{name: qa, url: https://ci.example/gate}]", maxGates, func(n *node, path string) {
		c, ok := r.object(n, path, "{name: qa, url: https://ci.example/gate} or {name: board, confirm: manual}")
		if !ok {
			return
		}
		g := whittle.Gate{Every: 30 * time.Second}
		c.name(&g.Name, "qa")
		var h whittle.Hook
		asked, byHand := r.hook(c, &h, files), false
		choose(c, "confirm", &byHand, []string{"webhook", "manual"}, false, true)
		wordList(c, "before", "[first, step, live]", &g.Before, moments)
		c.duration("every", &g.Every, time.Second, time.Hour)
		c.done()
		switch {
		case byHand:
			c.useless("with confirm: manual, where nobody is asked", "url", "url_file", "url_env", "key_file", "key_env", "timeout", "every")
		case !asked:
			r.fail(n.at, path, "says nobody to ask: write url: (or url_file:, url_env:), or confirm: manual for one that is opened by whittle approve")
		default:
			g.Hook = &h
		}
		if !c.given("before") {
			g.Before = slices.Clone(moments[:3])
		} else if len(g.Before) == 0 && !r.failed(c.sub("before")) {
			r.failField(c.sub("before"), "is empty, so the gate is never asked; write [first, step, live], or leave it out for that")
		}
		for i, m := range g.Before {
			if slices.Contains(g.Before[:i], m) {
				r.failField(c.sub("before"), "has %s twice", m)
			}
			if m == whittle.GateRollback && (byHand || len(g.Before) > 1) {
				r.failField(c.sub("before"), "rollback is for a gate of its own that is asked by a webhook: its 200 takes the users off the candidate; by hand there is whittle rollback")
			}
		}
		c.unique(g.Name, "gate of this route", slices.ContainsFunc(p.Gates, func(other whittle.Gate) bool { return other.Name == g.Name }))
		p.Gates = append(p.Gates, g)
	})
}

// parseName reads a short name for commands, metrics and sentences.
func parseName(s string) (string, error) {
	if s == "" || len(s) > 60 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return "", fmt.Errorf("%s is no name: at most 60 letters, digits, dots, dashes and underscores", quote(s))
	}
	return s, nil
}

// notify reads the receivers of events.
func (r *reader) notify(o *object, f *File, files folder) {
	o.list("notify", "[{name: ops, url: https://hooks.example/x}]", maxNotices, func(n *node, path string) {
		c, ok := r.object(n, path, "{name: ops, url_file: FILE, format: slack}")
		if !ok {
			return
		}
		v := whittle.Notice{}
		c.name(&v.Name, "ops")
		if !r.hook(c, &v.Hook, files) {
			r.fail(n.at, path, "says nobody to tell: write url:, or url_file: or url_env: where it is a secret, as Slack's is")
		}
		choose(c, "format", &v.Slack, []string{"json", "slack"}, false, true)
		wordList(c, "events", "[rise, rollback, trip]", &v.Events, whittle.EventKinds)
		c.texts("routes", `["POST /Count"]`, &v.Routes, func(string) error { return nil })
		c.done()
		for _, empty := range []struct {
			key string
			n   int
		}{{"events", len(v.Events)}, {"routes", len(v.Routes)}} {
			if c.given(empty.key) && empty.n == 0 && !r.failed(c.sub(empty.key)) {
				r.failField(c.sub(empty.key), "is empty, so nobody is told of anything; leave it out for all")
			}
		}
		c.unique(v.Name, "one", slices.ContainsFunc(f.Notices, func(other whittle.Notice) bool { return other.Name == v.Name }))
		f.Notices = append(f.Notices, v)
	})
}

// checkNotices checks that the routes of a notice exist.
func (r *reader) checkNotices(f *File) {
	for i, n := range f.Notices {
		for k, name := range n.Routes {
			if !slices.ContainsFunc(f.Routes, func(r whittle.Route) bool { return r.Name == name && r.Candidate != nil }) {
				r.failField(fmt.Sprintf("notify[%d].routes[%d]", i, k), "no route with a candidate is called %s", quote(name))
			}
		}
	}
}

// describeGates says what a rise waits for.
func describeGates(b *strings.Builder, p *whittle.Rollout) {
	for i := range p.Gates {
		g := &p.Gates[i]
		name, when := "gates", make([]string, len(g.Before))
		if i > 0 {
			name = ""
		}
		for k, m := range g.Before {
			when[k] = momentWords[m]
		}
		how := "is opened by whittle approve"
		if g.Hook != nil {
			how = "is asked at " + hostOf(g.Hook) + signed(g.Hook)
		}
		line(b, name, "%s %s, %s", g.Name, how, strings.Join(when, ", "))
	}
}

var momentWords = map[whittle.GateMoment]string{
	whittle.GateFirst: "before the first users", whittle.GateStep: "before each further step", whittle.GateLive: "before the shift is over",
	whittle.GateRollback: "while users are on the candidate, and takes them off it by 200",
}

func signed(h *whittle.Hook) string {
	if h.Key == "" {
		return ", not signed"
	}
	return ", signed"
}

func (f *File) describeNotices(b *strings.Builder) {
	for i := range f.Notices {
		n := &f.Notices[i]
		format, what := "JSON", "everything"
		if n.Slack {
			format = "Slack's form"
		}
		if len(n.Events) > 0 {
			what = strings.Join(texts(n.Events), ", ")
		}
		if len(n.Routes) > 0 {
			what += " of " + strings.Join(n.Routes, ", ")
		}
		line(b, "notify", "%s at %s%s, as %s: %s", n.Name, hostOf(&n.Hook), signed(&n.Hook), format, what)
	}
}
