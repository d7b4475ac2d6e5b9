package header

import (
	"maps"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
)

// Findings are those of the places and what servers add, each with what to do
// where it cannot be distinguished from the monolith's own changes. limit is the share of
// responses that may differ.
func (h *Headers) Findings(limit float64) (list []whittle.Finding) {
	for i := range h.Places {
		p := &h.Places[i]
		at, own := h.shownAt(p, limit), h.mayBeOwn(p)
		for _, f := range p.findingsAt(whittle.FoundHeader, "header", at) {
			if f.Expected == "" {
				if h.noisy(p) && at == 0 && !own {
					continue // as with the fields of JSON: noise is no finding
				}
				f.Cause = h.cause(p, at, own)
				f.EValue = min(p.Share.EValue(), max(p.Same.EValue(), p.Self.EValue()))
			}
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b whittle.Finding) int { return strings.Compare(a.Path, b.Path) })
	list = append(list, h.values.findings()...)
	added := Head{N: h.N, Changes: h.Added}
	return append(list, added.findingsAt(whittle.FoundHeader, "header", 0)...)
}

// cause says what to do about a difference that may be none of the candidate's.
func (h *Headers) cause(p *place, at int, own bool) string {
	switch {
	case h.isOwn(p.Name):
		return "both sides' values come in spells, and now the one's moves and now the other's, so each server seems to hold its own, which says nothing of the candidate: " + exceptWords(p.Name)
	case own:
		return "each side says one and the same to all requests for a while: whether each server holds its own, which moves, has not been watched for long enough; if it does, " + exceptWords(p.Name)
	case p.Name == "Content-Encoding": // one that was asked for is taken off before anything is compared
		return "the request's Accept-Encoding asks for none such, so its client may not be able to read the body"
	case h.isConstant(p):
		return "each side says one and the same in every response, as a host name or a version: if it is each server's own, " + exceptWords(p.Name) + "; if not, the candidate's is wrong"
	case at > 0:
	case h.noisy(p):
		return "the monolith changes it by itself: declare it in compare.expect, or leave it out of compare.headers"
	case h.Repeats == 0:
		return "no request was asked twice, so the monolith may change it by itself: if it does, declare it in compare.expect, or leave it out of compare.headers"
	}
	return ""
}

// Noisy lists the headers that the monolith changed by itself.
func (h *Headers) Noisy() (list []string) {
	for k := range h.Noise {
		list = append(list, wholeOf(k[1:]))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Kept is what Restored reads.
func (h *Headers) Kept() Headers {
	k := *h
	k.Forms = h.values.State()
	return k
}

// Restored are headers with what was kept after n compared exchanges.
func (h *Headers) Restored(kept *Headers, n int) (Headers, error) {
	r := New(h.c, h.show)
	r.withNoise, r.chosen = h.withNoise, h.chosen
	r.Places, r.Added, r.Repeats, r.N = kept.Places, kept.Added, kept.Repeats, kept.N
	maps.Copy(r.Noise, kept.Noise)
	for i := range r.Places {
		r.index[r.Places[i].key()] = i
	}
	err := r.values.Restore(kept.Forms, n)
	for _, path := range r.values.Places() {
		r.values.places[path] = true
	}
	return r, err
}

// ShowAgain redacts what was restored.
func (h *Headers) ShowAgain() {
	lists := [][]Change{h.Added}
	for i := range h.Places {
		lists = append(lists, h.Places[i].Changes)
	}
	for _, list := range lists {
		for i := range list {
			c := &list[i]
			h.show.Again(c.Samples, nil)
			c.From, c.To = shownHeaderAgain(h.show, c.Path, c.From), shownHeaderAgain(h.show, c.Path, c.To)
			for k := range c.Samples {
				c.Samples[k].MonolithValue, c.Samples[k].CandidateValue = c.From, c.To
			}
		}
	}
	h.values.ShowAgain()
}

// headerExpectation is a declared difference, with its values as they are compared
// as well as they were written.
type headerExpectation struct {
	whittle.Expectation
	from, to string
}

func headerExpectations(list []whittle.Expectation) (out []headerExpectation) {
	word := func(name, value string) string {
		if value == "" || name == "" {
			return value
		}
		return headerWord(name, whittle.Header{name: {value}}, nil)
	}
	for _, e := range list {
		if e.Kind == whittle.FoundHeader {
			out = append(out, headerExpectation{e, word(e.Path, e.From), word(e.Path, e.To)})
		}
	}
	return out
}

// reason gives the reason of the declaration that covers a change, by what is
// shown of it or by what it is; empty: none does.
func (h *Headers) reason(name, host, from, to, rawFrom, rawTo string) string {
	fits := func(want, word, shown, raw string) bool {
		if want == "" || strings.EqualFold(want, shown) || strings.EqualFold(word, raw) {
			return true
		}
		bare, ok := onHost(word, host)
		return ok && name == "Location" && bare == raw
	}
	for _, e := range h.expect {
		if (e.Path == "" || strings.EqualFold(e.Path, name)) && fits(e.From, e.from, from, rawFrom) && fits(e.To, e.to, to, rawTo) {
			return display.Reason(e.Expectation)
		}
	}
	return ""
}
