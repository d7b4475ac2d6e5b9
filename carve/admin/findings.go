package admin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"whittle"
)

// Findings is the response to GET /api/v1/routes/{name}/findings.
type Findings struct {
	Route    string        `json:"route"`
	Verdict  whittle.State `json:"verdict"`
	Compared int           `json:"compared"`
	Summary  string        `json:"summary"`
	// Total is how many findings match, of which Findings are those from
	// Offset on.
	Total    int               `json:"total"`
	Offset   int               `json:"offset"`
	Findings []whittle.Finding `json:"findings"`
}

const (
	// maxQuery bounds what is searched for, in bytes.
	maxQuery = 200
	// maxPage bounds the findings of one response.
	maxPage = 10_000
)

// filter says which findings are asked for. The zero value: all of them.
type filter struct {
	kind     whittle.FindingKind
	query    string // lower case
	expected *bool
	decided  *bool
	offset   int
	limit    int
}

func readFilter(v url.Values) (f filter, err error) {
	f.kind = whittle.FindingKind(v.Get("kind"))
	f.query = strings.ToLower(v.Get("q"))
	f.limit = maxPage
	if len(f.query) > maxQuery {
		return f, whittle.Errorf(whittle.Invalid, "q is longer than %d bytes", maxQuery).WithField("q")
	}
	for name, into := range map[string]**bool{"expected": &f.expected, "decided": &f.decided} {
		if s := v.Get(name); s != "" {
			b, err := strconv.ParseBool(s)
			if err != nil {
				return f, whittle.Errorf(whittle.Invalid, "%s=%q is neither true nor false", name, s).WithField(name)
			}
			*into = &b
		}
	}
	for name, into := range map[string]*int{"offset": &f.offset, "limit": &f.limit} {
		if s := v.Get(name); s != "" {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 || n > maxPage {
				return f, whittle.Errorf(whittle.Invalid, "%s=%q is not a number from 0 to %d", name, s, maxPage).WithField(name)
			}
			*into = n
		}
	}
	return f, nil
}

func (f *filter) matches(x *whittle.Finding) bool {
	switch {
	case f.kind != "" && x.Kind != f.kind,
		f.expected != nil && (x.Expected != "") != *f.expected,
		f.decided != nil && x.Decided != *f.decided:
		return false
	case f.query == "":
		return true
	}
	for _, text := range []string{x.Path, x.Summary, x.Cause, x.Monolith, x.Candidate, x.Expected} {
		if strings.Contains(strings.ToLower(text), f.query) {
			return true
		}
	}
	return false
}

// page gives the matching findings of one page, and how many match in all.
func (f *filter) page(all []whittle.Finding) (page []whittle.Finding, total int) {
	page = []whittle.Finding{}
	for i := range all {
		if !f.matches(&all[i]) {
			continue
		}
		if total >= f.offset && len(page) < f.limit {
			page = append(page, all[i])
		}
		total++
	}
	return page, total
}

func (s *server) findings(w http.ResponseWriter, r *http.Request) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	st, err := s.o.Controller.Route(named(r))
	if err != nil {
		return err
	}
	v := filled(st).Verdict
	page, total := f.page(v.Findings)
	return reply(w, Findings{
		Route: st.Route, Verdict: v.State, Compared: v.Compared, Summary: v.Summary,
		Total: total, Offset: f.offset, Findings: page,
	})
}
