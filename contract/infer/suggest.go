package infer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"whittle"
	"whittle/contract"
	"whittle/internal/units"
)

// method lists what is guessed of the whole exchange.
func (g *guesser) method(m *method, at *contract.Method) {
	e := m.e
	g.path(m, at)
	g.query(m)
	g.template(m)
	g.responses(m)
	g.repeats(m)
	g.echoes(m, at)
	g.headers(m)
	if e.cut > 0 {
		g.add("exchanges", "looked at without them", "whole bodies", fmt.Sprintf("%s of %s had a body longer than what is recorded", units.Grouped(e.cut), units.Grouped(e.seen)))
	}
	if g.more > 0 {
		g.list = append(g.list, contract.Guess{Path: "guesses", Chosen: "not listed", Evidence: fmt.Sprintf("%d more", g.more)})
	}
}

func (g *guesser) path(m *method, at *contract.Method) {
	for j, p := range m.e.path {
		field := at.HTTP.Path[j].Field
		for k := range m.input {
			f := &m.input[k]
			if f.field.Name != field || f.from != fromPath {
				continue
			}
			evidence := strings.Join(p.says(f.typed.typ), "; ")
			if evidence == "" {
				evidence = fmt.Sprintf("%s values", units.Grouped(p.n))
			}
			g.add("path {"+field+"}", typeName(f.typed), "a literal", evidence)
		}
	}
	param := 0
	for _, s := range m.e.segments {
		if s.Wildcard && s.Chosen && param < len(at.HTTP.Path) {
			g.add("path {"+at.HTTP.Path[param].Field+"}", "a wildcard", "endpoints of their own", s.Why)
		}
		if s.Wildcard {
			param++
		}
	}
}

func (g *guesser) query(m *method) {
	for j := range m.input {
		f := &m.input[j]
		if f.from != fromQuery && f.from != fromForm {
			continue
		}
		p, label := m.e.query.by[f.http], "query "
		if f.from == fromForm {
			p, label = m.request.seen.pairs.by[f.http], "form "
		}
		in := fmt.Sprintf("in %s of %s", units.Grouped(p.seen), contract.Count(m.m.Seen, "exchange"))
		evidence := strings.Join(append([]string{in}, p.says(f.typed.typ)...), "; ")
		if p.repeated > 0 {
			evidence += fmt.Sprintf("; %s had it more than once", units.Grouped(p.repeated))
		}
		chosen := typeName(f.typed)
		if f.optional && f.typed.singular() {
			chosen = "optional " + chosen
		}
		against := "string"
		if f.typed.typ == contract.String {
			against = "enum"
			if p.ints > 0 && !p.text.FewWords() {
				against = "a number"
			}
		}
		g.add(label+f.http, chosen, against, evidence)
	}
	if more := m.e.query.more; more > 0 {
		g.add("query", "left out", "further fields", fmt.Sprintf("%s values of names beyond the first %d, or that no field can have", units.Grouped(more), maxParams))
	}
}

func (g *guesser) template(m *method) {
	pieces := m.response.pieces()
	if m.response.seen.text == 0 {
		return
	}
	if pieces == nil {
		g.add("response", "one text", "a template", fmt.Sprintf("%s texts of up to %s bytes have too little in common", units.Grouped(m.response.seen.text), units.Grouped(m.response.seen.longest)))
		return
	}
	n := 0
	for _, p := range pieces {
		if p.Hole != nil {
			n++
		}
	}
	evidence := fmt.Sprintf("all %s texts fit it", units.Grouped(m.response.seen.text))
	if !m.response.seen.texts.Varied {
		evidence = fmt.Sprintf("all %s texts were the same; integers in it are taken for fields", units.Grouped(m.response.seen.text))
	}
	g.add("response", "a template with "+contract.Count(n, "field"), "one text", evidence)
}

func (g *guesser) responses(m *method) {
	e := m.e
	for _, status := range slices.Sorted(maps.Keys(e.responses)) {
		if status == e.success() {
			continue
		}
		g.add(fmt.Sprintf("status %d", status), "an error", "a second kind of response", fmt.Sprintf("%s of %s", units.Grouped(e.responses[status].n), contract.Count(e.seen, "exchange")))
	}
	if e.failed > 0 {
		g.add("exchanges", "looked at without them", "responses", fmt.Sprintf("%s of %s had no response", units.Grouped(e.failed), units.Grouped(e.seen)))
	}
	for _, b := range []*body{m.request, m.response} {
		if t := &b.seen.types; len(t.by) > 1 || t.more > 0 {
			g.add(b.label()+" content type", t.most(), "several", fmt.Sprintf("%s of %s have it", units.Grouped(t.by[t.most()]), units.Grouped(b.seen.n-b.seen.none)))
		}
	}
}

func (g *guesser) headers(m *method) {
	for _, name := range slices.Sorted(maps.Keys(m.e.asked.by)) {
		g.add("request header "+name, "not in the message", "a field", fmt.Sprintf("%s of %s have it; where the response depends on it, logic of "+
			"your own reads delegate.RequestHeader(ctx)", units.Grouped(m.e.asked.by[name]), contract.Count(m.m.Seen, "request")))
	}
	compared := whittle.Comparison{AllHeaders: true}
	for _, name := range slices.Sorted(maps.Keys(m.e.headers.by)) {
		evidence := fmt.Sprintf("%s of %s responses have it", units.Grouped(m.e.headers.by[name]), units.Grouped(m.m.Seen))
		if compared.ComparesHeader(name) {
			evidence += "; it is compared, so logic of your own has to set it"
		}
		g.add("response header "+name, "not in the message", "a field", evidence)
	}
}

// often is the share of repeated requests from which on a path counts as one
// that differs by itself.
const often = 0.5

// byItself reports whether so many differing repeats cannot be a change of
// state.
func (r *repeats) byItself(n int) bool {
	return n >= leastDiffering && float64(n) >= often*float64(r.pairs)
}

// noisy lists the paths to ignore, and those whose order to ignore. A path that
// differs and does not look generated is not among them: ignoring it would
// accept any value, while the noise that a comparison learns excuses only what
// the monolith itself changes.
func (r *repeats) noisy() (ignore, unordered []string) {
	for _, path := range slices.Sorted(maps.Keys(r.paths)) {
		switch d := r.paths[path]; {
		case !r.byItself(d.n):
		case d.reordered == d.n:
			unordered = append(unordered, path)
		case d.made == d.n && path != "$":
			ignore = append(ignore, path)
		}
	}
	return ignore, unordered
}

// random lists the paths of numbers that differ at most calls though the
// request is the same.
func (r *repeats) random() []string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(r.paths)) {
		if d := r.paths[path]; r.byItself(d.n) && d.numbers == d.n && d.made < d.n {
			out = append(out, path)
		}
	}
	return out
}

// distributionPath returns the path of the number whose distribution can be
// compared; empty: none. Such a comparison reads one number and requires all
// else that is not ignored to be equal, so nothing else may vary.
func (r *repeats) distributionPath(ignore []string) string {
	random := r.random()
	if len(random) != 1 || strings.Contains(random[0], "*") {
		return ""
	}
	for path, d := range r.paths {
		if path != random[0] && !slices.Contains(ignore, path) || path == random[0] && counts(d.rising, d.n) {
			return ""
		}
	}
	return random[0]
}

// randomText reports whether the responses are texts with one number, which is
// random.
func (r *repeats) randomText() bool {
	return r.texts == 0 && r.byItself(r.numbers)
}

// counts reports whether a number only grew, or only fell, from one repeat to
// the next: a counter, or a state, has no distribution that a second response
// follows. Independent numbers do so in all of eight repeats with a probability
// of 1 in 128.
func counts(rising, n int) bool { return n >= 8 && (rising == 0 || rising == n) }

func (g *guesser) repeats(m *method) {
	r := &m.e.repeats
	if r.pairs == 0 {
		return
	}
	ignore, unordered := r.noisy()
	random, byDistribution := r.random(), r.distributionPath(ignore)
	for _, path := range slices.Sorted(maps.Keys(r.paths)) {
		evidence := fmt.Sprintf("differed in %s of %s repeats of the same request", units.Grouped(r.paths[path].n), units.Grouped(r.pairs))
		chosen := "compared"
		switch {
		case slices.Contains(ignore, path):
			chosen = "ignored in comparisons"
		case slices.Contains(unordered, path):
			chosen = "compared without regard to order"
		case path == byDistribution:
			chosen = "random by nature, compared by its distribution"
		case slices.Contains(random, path):
			chosen = "random by nature, what differs is learned"
			evidence += "; it only ever grows or falls, or is not all that varies"
		}
		g.add("response "+path, chosen, "a change of state", evidence)
	}
	if r.numbers+r.texts > 0 {
		chosen := "compared"
		if r.randomText() {
			chosen = "random by nature, compared by its distribution"
		}
		evidence := fmt.Sprintf("only the first number differed in %s of %s repeats of the same request", units.Grouped(r.numbers), units.Grouped(r.pairs))
		if r.texts > 0 {
			evidence += fmt.Sprintf(", something else in %s", units.Grouped(r.texts))
		}
		g.add("response", chosen, "a change of state", evidence)
	}
}

// compare suggests a comparison of two responses.
func (e *endpoint) compare() contract.Compare {
	r := &e.repeats
	var c contract.Compare
	c.Ignore, c.Unordered = r.noisy()
	byDistribution := r.distributionPath(c.Ignore)
	for _, path := range slices.Sorted(maps.Keys(r.paths)) {
		if r.byItself(r.paths[path].n) && path != byDistribution && !slices.Contains(c.Ignore, path) && !slices.Contains(c.Unordered, path) {
			c.Varies = append(c.Varies, path)
		}
	}
	switch {
	case r.randomText():
		c.Kind, c.Value = whittle.Statistical, numberInBody
		c.Per = e.echoes.per("response", numberInBody)
	case byDistribution != "":
		// What is ignored of JSON is ignored in addition to the number.
		c.Kind, c.Value = whittle.Statistical, "json"+strings.TrimPrefix(byDistribution, "$")
		c.Per = e.echoes.per("response "+byDistribution, c.Value)
	case len(c.Ignore)+len(c.Unordered) > 0:
		c.Kind = whittle.JSON
	}
	return c
}

// per returns the expression of the request's number that the response's is
// proportional to.
func (s *echoes) per(name, cel string) string {
	best := ""
	for k, p := range s.pairs {
		_, per, _ := strings.Cut(k[0], "\x00")
		if k[1] == name+"\x00"+cel && per != "" && p.grows() && (best == "" || per < best) {
			best = per
		}
	}
	return best
}

func (g *guesser) echoes(m *method, at *contract.Method) {
	s := &m.e.echoes
	keys := slices.SortedFunc(maps.Keys(s.pairs), func(a, b [2]string) int {
		return strings.Compare(a[0]+a[1], b[0]+b[1])
	})
	for _, k := range keys {
		p := s.pairs[k]
		in, per, _ := strings.Cut(k[0], "\x00")
		out, _, _ := strings.Cut(k[1], "\x00")
		for j, w := range at.HTTP.Path {
			if in == fmt.Sprintf("path %d", j) {
				in = "path {" + w.Field + "}"
			}
		}
		switch {
		case p.n == p.equal && p.n == s.seen && p.varied:
			g.add(out, "the same as "+in, "a value of its own", "equal in all "+contract.Count(p.n, "exchange"))
		case per != "" && p.grows():
			g.add(out, "grows with "+in, "independent of it", p.evidence())
		}
	}
}
