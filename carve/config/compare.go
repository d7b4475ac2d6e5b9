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

func (r *reader) compare(o *object, c *whittle.Comparison) {
	n, ok := o.get("compare")
	if !ok {
		return
	}
	path := o.sub("compare")
	if n.kind != isMapping {
		readNode(r, n, path, "exact, json or statistical, or a mapping with kind:", &c.Kind, parseKind)
		return
	}
	m, _ := r.object(n, path, "")
	read(m, "kind", "exact, json or statistical", &c.Kind, parseKind)
	m.headers("headers", c)
	m.texts("ignore", "[$.id]", &c.Ignore, jsonPath)
	m.textsUpTo(jsondiff.MaxMasks, "ignore_text", `['nonce="([^"]*)"']`, &c.IgnoreText, maskPattern)
	m.texts("unordered", "[$.items]", &c.Unordered, jsonPath)
	m.fraction("tolerance", &c.Tolerance)
	m.flag("learn_noise", &c.LearnNoise)
	r.forms(m, c)
	m.text("value", &c.Value)
	m.text("per", &c.Per)
	if g, ok := m.child("margin", "{mean: 0.5%, spread: 1.25x, distribution: 0.1}"); ok {
		g.percent("mean", &c.Margin.Mean)
		g.multiple("spread", &c.Margin.Spread, false)
		g.fraction("distribution", &c.Margin.Distribution)
		g.done()
	}
	m.confidence("confidence", &c.Confidence)
	m.percent("max_differ", &c.MaxDiffer)
	m.count("min_compared", &c.MinCompared, 1, 1_000_000_000)
	m.list("expect", "[{kind: status, reason: …}]", 1000, func(n *node, path string) {
		if e, ok := r.expectation(n, path, c); ok {
			c.Expect = append(c.Expect, e)
		}
	})
	m.done()
	r.onlyFor(m, c.Kind)
}

func maskPattern(s string) error {
	_, err := jsondiff.MaskPattern(s)
	return err
}

func parseKind(s string) (whittle.CompareKind, error) {
	return oneOf(s, []whittle.CompareKind{whittle.Exact, whittle.JSON, whittle.Statistical})
}

// kindsOf says which kinds of comparison a setting has an effect on, for those
// that not all kinds share.
var kindsOf = []struct {
	key   string
	kinds []whittle.CompareKind
}{
	{"ignore", []whittle.CompareKind{whittle.JSON, whittle.Statistical}},
	{"ignore_text", []whittle.CompareKind{whittle.JSON, whittle.Exact}},
	{"unordered", []whittle.CompareKind{whittle.JSON}},
	{"tolerance", []whittle.CompareKind{whittle.JSON}},
	{"learn_noise", []whittle.CompareKind{whittle.JSON, whittle.Exact}},
	{"form", []whittle.CompareKind{whittle.JSON}},
	{"value", []whittle.CompareKind{whittle.Statistical}},
	{"per", []whittle.CompareKind{whittle.Statistical}},
	{"margin", []whittle.CompareKind{whittle.Statistical}},
	{"max_differ", []whittle.CompareKind{whittle.JSON, whittle.Exact}},
}

// onlyFor refuses settings that would silently have no effect.
func (r *reader) onlyFor(m *object, kind whittle.CompareKind) {
	if r.failed(m.sub("kind")) {
		return
	}
	for _, row := range kindsOf {
		if !slices.Contains(row.kinds, kind) {
			m.useless(fmt.Sprintf("on kind: %s; it belongs to %s", kind, strings.Join(texts(row.kinds), " and ")), row.key)
		}
	}
}

var findingKinds = []whittle.FindingKind{
	whittle.FoundStatus, whittle.FoundContentType, whittle.FoundHeader, whittle.FoundBody, whittle.FoundField, whittle.FoundForm, whittle.FoundMean,
	whittle.FoundSpread, whittle.FoundDistribution, whittle.FoundRepeats, whittle.FoundWrongValue, whittle.FoundUnreadable, whittle.FoundFailure,
}

// wantHeaders says in messages how the headers to compare are written.
const wantHeaders = "all, a list such as [Location, Set-Cookie], or {except: [X-Build], also: [ETag]}"

// headers reads which headers are compared: all, only those of a list, or all but
// some and some of those that servers add.
func (o *object) headers(key string, c *whittle.Comparison) {
	n, ok := o.get(key)
	if !ok {
		return
	}
	switch n.kind {
	case isSequence:
		c.AllHeaders, c.Headers = false, nil
		o.headerNames(key, &c.Headers, parseComparedHeader)
	case isMapping:
		m, _ := o.r.object(n, o.sub(key), wantHeaders)
		m.headerNames("except", &c.ExceptHeaders, parseComparedHeader)
		m.headerNames("also", &c.Headers, parseAddedHeader)
		m.done()
		for _, name := range c.Headers {
			if slices.Contains(c.ExceptHeaders, name) {
				o.r.failField(m.sub("also"), "%s stands in except, too", name)
			}
		}
		if len(n.entries) == 0 {
			o.r.fail(n.at, o.sub(key), "is empty; write %s", wantHeaders)
		}
	default:
		readNode(o.r, n, o.sub(key), wantHeaders, new(string), func(s string) (string, error) {
			if s != "all" {
				return "", fmt.Errorf("%s is not understood; write %s", quote(s), wantHeaders)
			}
			return s, nil
		})
	}
}

// headerNames reads a list of names of headers, each once.
func (o *object) headerNames(key string, dst *[]string, parse func(string) (string, error)) {
	o.list(key, "[Location, Set-Cookie]", whittle.MaxHeaders, func(n *node, path string) {
		var name string
		if readNode(o.r, n, path, "a header's name", &name, parse) && !slices.Contains(*dst, name) {
			*dst = append(*dst, name)
		}
	})
}

// uncompared are headers whose comparison would mean nothing.
var uncompared = map[string]string{
	"Content-Type":      "it is compared always",
	"Content-Encoding":  "bodies are compared without their coding",
	"Content-Length":    "bodies are compared themselves",
	"Transfer-Encoding": "it belongs to a connection", "Connection": "it belongs to a connection", "Keep-Alive": "it belongs to a connection",
	"Trailer": "it belongs to a connection", "Upgrade": "it belongs to a connection",
	"Date": "it is another one in each response",
}

// parseHeaderName gives a header's name in canonical form.
func parseHeaderName(s string) (string, error) {
	if !http1.IsToken(s) || len(s) > maxHeaderName {
		return "", fmt.Errorf("%s is not a header's name; write one such as Location", quote(s))
	}
	return textproto.CanonicalMIMEHeaderKey(s), nil
}

// maxHeaderName bounds a header's name, in bytes.
const maxHeaderName = 128

func parseComparedHeader(s string) (string, error) {
	name, err := parseHeaderName(s)
	if err != nil {
		return "", err
	}
	if strings.Contains(s, "*") {
		return "", fmt.Errorf("%s: a name is compared as a whole: write each one, or headers: all", quote(s))
	}
	if why, no := uncompared[name]; no {
		return "", fmt.Errorf("%s is not for this list: %s", name, why)
	}
	return name, nil
}

// parseAddedHeader reads one of those headers that servers add.
func parseAddedHeader(s string) (string, error) {
	name, err := parseComparedHeader(s)
	if err == nil && !whittle.AddedByServers(name) {
		return "", fmt.Errorf("%s is compared already; here stand headers that servers add by themselves, such as ETag", name)
	}
	return name, err
}

// notOfAnRPC are headers that the RPC's own response has and the mapped response never
// has.
var notOfAnRPC = []string{"Etag", "Last-Modified", "Accept-Ranges"}

// checkHeaders refuses headers that a candidate could never have.
func (r *reader) checkHeaders(compare string, route *whittle.Route) {
	if route.RPC == nil {
		return
	}
	for _, name := range route.Compare.Headers {
		if slices.Contains(notOfAnRPC, name) {
			r.failField(compare+".headers", "%s is never in the response of a candidate behind an RPC; leave it out", name)
		}
	}
	for _, name := range notOfAnRPC {
		if c := &route.Compare; c.AllHeaders && !slices.Contains(c.ExceptHeaders, name) {
			c.ExceptHeaders = append(c.ExceptHeaders, name)
		}
	}
}

func (r *reader) expectation(n *node, path string, c *whittle.Comparison) (whittle.Expectation, bool) {
	var e whittle.Expectation
	o, ok := r.object(n, path, "{kind: status, reason: …}")
	if !ok {
		return e, false
	}
	kinds := texts(findingKinds)
	o.need(choose(o, "kind", &e.Kind, kinds, findingKinds...), "kind", "write one of: "+strings.Join(kinds, ", "))
	o.text("path", &e.Path)
	o.text("from", &e.From)
	o.text("to", &e.To)
	o.need(o.text("reason", &e.Reason), "reason", "say in a sentence why this difference is accepted")
	o.done()
	if e.Kind == whittle.FoundHeader && e.Path != "" {
		switch name, err := parseHeaderName(e.Path); {
		case err != nil:
			r.failField(o.sub("path"), "%v", err)
		case !c.ComparesHeader(name) && (!c.ListsHeader(name) || !whittle.ComparedOnRequest(name)):
			r.failField(o.sub("path"), "%s is not compared; the headers that are: %s", name, comparedHeaders(c))
		default:
			e.Path = name
		}
	}
	if e.Kind == whittle.FoundForm && (e.From != "" || e.To != "") {
		r.fail(n.at, path, "a form is declared for a path as a whole: leave from and to out")
	}
	if (e.Kind == whittle.FoundField || e.Kind == whittle.FoundForm) && e.Path != "" {
		if err := jsonPath(e.Path); err != nil {
			r.failField(o.sub("path"), "%v", err)
		}
	}
	return e, true
}

// text of an expectation, for a person.
func expected(e whittle.Expectation) string {
	s := string(e.Kind)
	if e.Path != "" {
		s += " at " + e.Path
	}
	switch {
	case e.From != "" && e.To != "":
		s += fmt.Sprintf(" from %s to %s", e.From, e.To)
	case e.From != "":
		s += " from " + e.From
	case e.To != "":
		s += " to " + e.To
	}
	return s + " (" + e.Reason + ")"
}

// maxForms bounds the fields whose form is declared.
const maxForms = 64

// forms reads how the values of fields are compared, by JSON path.
func (r *reader) forms(m *object, c *whittle.Comparison) {
	f, ok := m.child("form", "{$.quote_id: uuid, $.expires_at: any}")
	if !ok {
		return
	}
	if len(f.n.entries) > maxForms {
		r.fail(f.n.at, f.path, "has %d entries, and at most %d are read", len(f.n.entries), maxForms)
		return
	}
	for _, e := range f.n.entries {
		at := f.sub(e.key)
		if err := jsonPath(e.key); err != nil {
			r.fail(e.at, at, "%v", err)
			continue
		}
		if slices.Contains(c.Ignore, e.key) {
			r.fail(e.at, at, "is ignored as well: leave it out here or there")
			continue
		}
		name := ""
		if readNode(r, e.value, at, "a form such as uuid", &name, parseForm) {
			c.Forms = append(c.Forms, whittle.FieldForm{Path: e.key, Form: name})
		}
	}
	if len(f.n.entries) > 0 && !c.LearnNoise {
		r.fail(f.n.at, f.path, "has no effect with learn_noise: false, where everything is compared by value")
	}
}

func parseForm(s string) (string, error) { return oneOf(s, form.Names()) }
