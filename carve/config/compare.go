package config

import (
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/form"
	"whittle/carve/compare/jsondiff"
	"whittle/internal/http1"
)

var kinds = []whittle.CompareKind{whittle.Exact, whittle.JSON, whittle.Statistical}

// kindsOf says which kinds of comparison a key has an effect on, for those that not all kinds
// share.
var kindsOf = map[string][]whittle.CompareKind{
	"ignore":      {whittle.JSON, whittle.Statistical},
	"ignore_text": {whittle.Exact, whittle.JSON},
	"unordered":   {whittle.JSON},
	"tolerance":   {whittle.JSON},
	"learn_noise": {whittle.Exact, whittle.JSON},
	"form":        {whittle.JSON},
	"value":       {whittle.Statistical},
	"per":         {whittle.Statistical},
	"margin":      {whittle.Statistical},
	"max_differ":  {whittle.Exact, whittle.JSON},
}

// comparison is a kind, or a mapping.
func comparison(c *whittle.Comparison) value {
	keys := []key{
		{"kind", chosen(&c.Kind, kinds), "json", "exact: the same bytes; json: the same structure and values; statistical: the same distribution"},
		{"headers", headers(c), "all", "headers to compare: `all` except those that servers add, or those of a list"},
		{"ignore", paths(&c.Ignore), "(none)", "JSON paths not compared: `$.id`, `$.items[*].at`, `$..etag`"},
		{
			"ignore_text", words(&c.IgnoreText, 0, jsondiff.MaxMasks, matching("regular expression (RE2)", ""), maskPattern), "(none)",
			"text to leave out of bodies that are compared as a whole: what the groups match, or the whole match",
		},
		{"unordered", paths(&c.Unordered), "(none)", "arrays whose order means nothing"},
		{"tolerance", fraction(&c.Tolerance, 0, 1), "0", "relative difference of two numbers that counts as none"},
		{"learn_noise", boolean(&c.LearnNoise), "true", "compares by form what the monolith changes by itself"},
		{"form", forms(c), "(learned)", "how to compare values, by JSON path. `any`: not at all; `value`: by value, even if the monolith changes it"},
		{"value", text(&c.Value), "number in the body", "these words (the first number), or an expression such as `json.total * 100`, or over `body`"},
		{"per", text(&c.Per), "(1)", "what the number is divided by: an expression over `request`, `query`, `header` and `path`, with `float`, `int`, `len`, `abs`, `ceil`, `floor`, `round`, `min`, `max`"},
		{"margin", mapping("{mean: 0.5%, spread: 1.25x, distribution: 0.1}", nil,
			key{"mean", percentOf(&c.Margin.Mean), "0.5%", "share of the monolith's mean that counts as no difference"},
			key{"spread", multiple(&c.Margin.Spread), "1.25x", "ratio of the spreads that counts as none"},
			key{"distribution", fraction(&c.Margin.Distribution, 0, 1), "0.1", "distance of the distribution functions that counts as none"}), "", "how much difference counts as none"},
		{"confidence", confidence(&c.Confidence), "0.99", "chance that a whole rollout raises no false alarm"},
		{"max_differ", percentOf(&c.MaxDiffer), "0%", "share of responses that may be seen to differ unexplained; at most 5 % and `guard.mismatch`"},
		{"min_compared", count(&c.MinCompared, 1, 1_000_000_000), "300", "fewest exchanges for EQUIVALENT"},
		{"expect", listOf(&c.Expect, 0, 1000, func(e *whittle.Expectation) value { return expectation(e, c) }), "(none)", "intended differences. They stay listed"},
	}
	idle := func(key string) bool { return kindsOf[key] != nil && !slices.Contains(kindsOf[key], c.Kind) }
	kind := chosen(&c.Kind, kinds)
	return value{form: kind.form, text: kind.text, block: func() block {
		return block{like: "{kind: json, ignore: [$.id]}", keys: keys, idle: idle, check: func(a at) {
			for _, k := range keys {
				if idle(k.name) && !a.failed("kind") {
					a.useless(fmt.Sprintf("on kind: %s; it belongs to %s", c.Kind, strings.Join(texts(kindsOf[k.name]), " and ")), k.name)
				}
			}
			if len(c.Forms) > 0 && !c.LearnNoise {
				a.failKey("form", "has no effect with learn_noise: false, where everything is compared by value")
			}
			for _, f := range c.Forms {
				if slices.Contains(c.Ignore, f.Path) {
					a.failKey("form."+f.Path, "is ignored as well: leave it out here or there")
				}
			}
		}}
	}}
}

func maskPattern(s string) (string, error) {
	_, err := jsondiff.MaskPattern(s)
	return s, err
}

// headers says which headers are compared: all, only those of a list, or all but some and some
// of those that servers add.
func headers(c *whittle.Comparison) value {
	only := headerNames(&c.Headers, parseComparedHeader)
	without := only.list.clear
	only.list.clear = func() { without(); c.AllHeaders = false }
	v := mapping("{except: [X-Build], also: [ETag]}", func(a at) {
		for _, name := range c.Headers {
			if slices.Contains(c.ExceptHeaders, name) {
				a.failKey("also", "%s is in except, too", name)
			}
		}
	},
		key{"except", headerNames(&c.ExceptHeaders, parseComparedHeader), "(none)", "headers not to compare"},
		key{"also", headerNames(&c.Headers, parseAddedHeader), "(none)", "headers to compare although servers add them"})
	of := v.block
	return value{
		form: matching("`all`", "^all$"), list: only.list,
		block: func() block { b := of(); b.filled = true; return b },
		text: func(_ at, s string) error {
			if c.AllHeaders = s == "all"; !c.AllHeaders {
				return fmt.Errorf("%s is not understood; write all, a list such as [Location, Set-Cookie], or {except: [X-Build], also: [ETag]}", quote(s))
			}
			return nil
		},
		show: func() string { return "[" + comparedHeaders(c) + "]" },
	}
}

// comparedHeaders says which headers are compared.
func comparedHeaders(c *whittle.Comparison) string {
	switch {
	case !c.AllHeaders && len(c.Headers) == 0:
		return "none"
	case !c.AllHeaders:
		return strings.Join(c.Headers, ", ")
	}
	s := "all but those that servers add by themselves"
	if len(c.ExceptHeaders) > 0 {
		s = "all but " + strings.Join(c.ExceptHeaders, ", ") + " and those that servers add by themselves"
	}
	if len(c.Headers) > 0 {
		s += "; also " + strings.Join(c.Headers, ", ")
	}
	return s
}

var headerForm = matching("header name", "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// headerNames is a list of names of headers, of which each counts once.
func headerNames(dst *[]string, parse func(string) (string, error)) value {
	v := words(dst, 0, whittle.MaxHeaders, headerForm, parse)
	item := v.list.item
	v.list.item = func() (value, func()) {
		one, keep := item()
		return one, func() {
			if keep(); slices.Index(*dst, (*dst)[len(*dst)-1]) < len(*dst)-1 {
				*dst = (*dst)[:len(*dst)-1]
			}
		}
	}
	return v
}

// uncompared are headers whose comparison would mean nothing.
var uncompared = map[string]string{
	"Content-Type":      "it is always compared",
	"Content-Encoding":  "bodies are compared decoded",
	"Content-Length":    "the body itself is compared",
	"Transfer-Encoding": "it belongs to a connection", "Connection": "it belongs to a connection", "Keep-Alive": "it belongs to a connection",
	"Trailer": "it belongs to a connection", "Upgrade": "it belongs to a connection",
	"Date": "it differs in each response",
}

// maxHeaderName bounds a header's name, in bytes.
const maxHeaderName = 128

// parseHeaderName gives a header's name in canonical form.
func parseHeaderName(s string) (string, error) {
	if !http1.IsToken(s) || len(s) > maxHeaderName {
		return "", fmt.Errorf("%s is not a header name; write one such as Location", quote(s))
	}
	return textproto.CanonicalMIMEHeaderKey(s), nil
}

func parseComparedHeader(s string) (string, error) {
	name, err := parseHeaderName(s)
	switch why, no := uncompared[name]; {
	case err != nil:
		return "", err
	case strings.Contains(s, "*"):
		return "", fmt.Errorf("%s: a name is compared as a whole: write each one, or headers: all", quote(s))
	case no:
		return "", fmt.Errorf("%s is not for this list: %s", name, why)
	}
	return name, nil
}

// parseAddedHeader reads one of those headers that servers add.
func parseAddedHeader(s string) (string, error) {
	name, err := parseComparedHeader(s)
	if err == nil && !whittle.AddedByServers(name) {
		return "", fmt.Errorf("%s is compared already; this list is for headers that servers add by themselves, such as ETag", name)
	}
	return name, err
}

// notOfAnRPC are headers that the RPC's own response has and the mapped response never has.
var notOfAnRPC = []string{"Etag", "Last-Modified", "Accept-Ranges"}

// checkHeaders refuses headers that a candidate behind an RPC could never have, and compares
// all others.
func checkHeaders(a at, t *whittle.Route) {
	c := &t.Compare
	for _, name := range notOfAnRPC {
		switch {
		case t.RPC == nil:
		case slices.Contains(c.Headers, name):
			a.failKey("compare.headers", "%s is never in the response of a candidate behind an RPC; leave it out", name)
		case c.AllHeaders && !slices.Contains(c.ExceptHeaders, name):
			c.ExceptHeaders = append(c.ExceptHeaders, name)
		}
	}
}

var findingKinds = []whittle.FindingKind{
	whittle.FoundStatus, whittle.FoundContentType, whittle.FoundHeader, whittle.FoundBody, whittle.FoundField, whittle.FoundMean,
	whittle.FoundSpread, whittle.FoundDistribution, whittle.FoundRepeats, whittle.FoundWrongValue, whittle.FoundUnreadable, whittle.FoundFailure,
}

func expectation(e *whittle.Expectation, c *whittle.Comparison) value {
	return mapping("{kind: status, reason: …}", func(a at) {
		if e.Kind == whittle.FoundHeader && e.Path != "" {
			switch name, err := parseHeaderName(e.Path); {
			case err != nil:
				a.failKey("path", "%v", err)
			case !c.ComparesHeader(name) && (!c.ListsHeader(name) || !whittle.ComparedByPresence(name)):
				a.failKey("path", "%s is not compared; the headers that are: %s", name, comparedHeaders(c))
			default:
				e.Path = name
			}
		}
		if e.Kind == whittle.FoundField && e.Path != "" {
			if _, err := pathShape.parse(e.Path); err != nil {
				a.failKey("path", "%v", err)
			}
		}
	},
		key{"kind", chosen(&e.Kind, findingKinds), required, "what differs"},
		key{"path", text(&e.Path), "(any)", "JSON path or header"},
		key{"from", text(&e.From), "(any)", "the monolith's value"},
		key{"to", text(&e.To), "(any)", "the candidate's"},
		key{"reason", text(&e.Reason), required, "why it is accepted"})
}

// maxForms bounds the fields whose form is declared.
const maxForms = 64

// forms says how the values of fields are compared, by JSON path.
func forms(c *whittle.Comparison) value {
	return value{names: &names{
		like: "{$.quote_id: uuid, $.expires_at: any}", most: maxForms, sample: "$.id", clear: func() { c.Forms = nil },
		entry: func(path string) (value, func(), error) {
			f := whittle.FieldForm{Path: path}
			_, err := pathShape.parse(path)
			return chosen(&f.Form, form.Names()), func() { c.Forms = append(c.Forms, f) }, err
		},
	}, show: func() string {
		var all []string
		for _, f := range c.Forms {
			all = append(all, f.Path+": "+f.Form)
		}
		if len(all) == 0 {
			return ""
		}
		return "{" + strings.Join(all, ", ") + "}"
	}}
}
