package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"whittle"
)

const (
	maxGates   = 16
	maxNotices = 32
	maxNames   = 1000 // of a mapping of names to names, and of a list of texts
)

// hook is a webhook: its URL (url, or url_file or url_env where it is a secret), the key that
// signs, and the timeout.
type hook struct {
	h        *whittle.Hook
	url, key kept
}

func hookOf(h *whittle.Hook) *hook {
	return &hook{h: h, url: kept{name: "url", into: &h.URL}, key: kept{name: "key", into: &h.Key}}
}

// keys show no more of the URL than its host.
func (k *hook) keys(one string) []key {
	plain := word(&k.h.URL, matching("`http://` or `https://` URL, with a query or without", `^[hH][tT][tT][pP][sS]?://[^#\s]+$`), parseHook)
	plain.show = func() string { return hostOf(k.h) }
	secret := k.url.keys(one, "the URL, if it is secret")
	secret[0].value.show = func() string { return "" }
	return slices.Concat([]key{{"url", plain, one, "where to send"}}, secret, k.key.keys("(none)", "the signing key: one word of at least 16 characters"),
		[]key{{"timeout", span(&k.h.Timeout, 10*time.Millisecond, time.Minute), "10s", "for one call"}})
}

// read reports whether there is a URL. No message shows it.
func (k *hook) read(a at) bool {
	text, field, given := k.url.read(a)
	switch {
	case given && a.given("url"):
		a.fail("has its URL from more than one place; keep one of url, url_file and url_env")
	case field != "":
		var err error
		if k.h.URL, err = parseHook(text); err != nil {
			a.r.failField(field, "%v", err)
		}
	}
	k.key.secret(a)
	return given || a.given("url")
}

// parseHook reads a URL that may be a secret, so that no message shows it.
func parseHook(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", errors.New("is not a URL: write https://HOST/PATH")
	case u.Fragment != "":
		return "", errors.New("has a fragment, which has no meaning here")
	}
	return s, hostPart(u)
}

// hostOf is the part of a hook's URL that may be shown.
func hostOf(h *whittle.Hook) string {
	u, err := url.Parse(h.URL)
	if err != nil || h.URL == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/…"
}

var moments = []whittle.GateMoment{whittle.GateFirst, whittle.GateStep, whittle.GateLive, whittle.GateRollback}

// wordList is a list of words, each one of those there are.
func wordList[T ~string](dst *[]T, least int, all []T) value {
	return listOf(dst, least, maxNames, func(w *T) value { return chosen(w, all) })
}

// gates are what a rise waits for.
func gates(p *whittle.Rollout) value {
	return listOf(&p.Gates, 0, maxGates, func(g *whittle.Gate) value {
		h := g.Hook
		if h == nil {
			h = new(whittle.Hook)
		}
		to, byHand := hookOf(h), g.Hook == nil && g.Name != "" // as it was read
		asked := to.keys("(one is required, but with `confirm: manual`)")
		if byHand {
			asked = nil
		}
		keys := slices.Concat([]key{{"name", nameShape.of(&g.Name), required, "unique in the route"}}, asked, []key{
			{"confirm", choice(&byHand, []string{"webhook", "manual"}, false, true), "webhook", "`manual`: `whittle approve` opens the gate"},
			{"before", wordList(&g.Before, 1, moments), "[first, step, live]", "before the first users, each further step, the end; `[rollback]`: while users are on the candidate; a 200 takes them off"},
			{"every", span(&g.Every, time.Second, time.Hour), "30s", "longest wait between two calls"},
		})
		return mapping("{name: qa, url: https://ci.example/gate} or {name: board, confirm: manual}", func(a at) {
			switch {
			case byHand:
				a.useless("with confirm: manual, where nobody is asked", "url", "url_file", "url_env", "key_file", "key_env", "timeout", "every")
			case !to.read(a):
				a.fail("names nobody to ask: write url: (or url_file:, url_env:), or confirm: manual for a gate that whittle approve opens")
			default:
				g.Hook = h
			}
			for i, m := range g.Before {
				if slices.Contains(g.Before[:i], m) {
					a.failKey("before", "has %s twice", m)
				}
				if m == whittle.GateRollback && (byHand || len(g.Before) > 1) {
					a.failKey("before", "rollback needs a webhook gate of its own, whose 200 takes the users off the candidate; by hand there is whittle rollback")
				}
			}
			unique(a, g.Name, slices.ContainsFunc(p.Gates, func(other whittle.Gate) bool { return other.Name == g.Name }))
		}, keys...)
	})
}

// unique refuses a name that another one has.
func unique(a at, name string, taken bool) {
	if name != "" && taken {
		a.failKey("name", "%s is used twice; each needs a name of its own", quote(name))
	}
}

// notices are the receivers of events.
func notices(f *File) value {
	return listOf(&f.Notices, 0, maxNotices, func(v *whittle.Notice) value {
		to := hookOf(&v.Hook)
		keys := slices.Concat([]key{{"name", nameShape.of(&v.Name), required, "unique"}}, to.keys("(one is required)"), []key{
			{"format", choice(&v.Slack, []string{"json", "slack"}, false, true), "json", "`slack`: for Slack's incoming webhooks"},
			{"events", wordList(&v.Events, 1, whittle.EventKinds), "(all)", "events to send"},
			{"routes", words(&v.Routes, 1, maxNames, matching("route name", "", "number", "boolean"), filled), "(all)", "routes to report on: `[\"POST /Count\"]`"},
		})
		return mapping("{name: ops, url_file: FILE, format: slack}", func(a at) {
			if !to.read(a) {
				a.fail("names nobody to tell: write url:, or url_file: or url_env: if it is secret, as Slack's is")
			}
			unique(a, v.Name, slices.ContainsFunc(f.Notices, func(other whittle.Notice) bool { return other.Name == v.Name }))
		}, keys...)
	})
}

// checkNotices checks that the routes of a notice exist.
func (r *reader) checkNotices(f *File) {
	for i, n := range f.Notices {
		for k, name := range n.Routes {
			if !slices.ContainsFunc(f.Routes, func(r whittle.Route) bool { return r.Name == name && r.Candidate != nil }) {
				r.failField(fmt.Sprintf("notify[%d].routes[%d]", i, k), "there is no route %s with a candidate", quote(name))
			}
		}
	}
}
