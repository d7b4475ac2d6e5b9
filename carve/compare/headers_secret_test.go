package compare

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"whittle"
)

// byName redacts the values of one header.
type byName struct{ stars }

func (byName) Response(a *whittle.Response) {
	if _, ok := a.Header["X-Session"]; ok {
		a.Header = maps.Clone(a.Header)
		a.Header["X-Session"] = []string{"***"}
	}
}

// TestHeadersAreRedactedByTheirNames: a header that the config names as a secret is one in a
// trailer too, and among the many headers that are not distinguished.
func TestHeadersAreRedactedByTheirNames(t *testing.T) {
	t.Parallel()
	many := func(session string) whittle.Header {
		h := whittle.Header{"X-Session": {session}, "X-Zone": {session[:4]}}
		for i := range 70 {
			h[fmt.Sprintf("A-%02d", i)] = []string{"same"}
		}
		return h
	}
	for name, sides := range map[string]func(x *whittle.Exchange){
		"trailer": func(x *whittle.Exchange) {
			x.Monolith.Trailer, x.Candidate.Trailer = whittle.Header{"X-Session": {"abcd-monolith"}}, whittle.Header{"X-Session": {"efgh-candidate"}}
		},
		"other headers": func(x *whittle.Exchange) {
			x.Monolith.Header, x.Candidate.Header = many("abcd-monolith"), many("efgh-candidate")
		},
	} {
		j := headerJudge(t)
		j.Redact(byName{})
		for range 5 {
			x := headed(nil, nil)
			sides(x)
			j.Observe(x)
		}
		kept := stateOf(t, j)
		v := j.Verdict()
		if s := fmt.Sprintf("%s %+v", kept, v); strings.Contains(s, "-monolith") || strings.Contains(s, "-candidate") || len(findingsOf(&v, whittle.FoundHeader)) == 0 {
			t.Errorf("%s: %+v", name, v.Findings)
		}
	}
}

// TestCookiesInTrailersAreNoSecretOut: a cookie in a trailer, which no client takes, is not
// compared, and its value shown nowhere.
func TestCookiesInTrailersAreNoSecretOut(t *testing.T) {
	t.Parallel()
	j := headerJudge(t)
	for range 5 {
		x := headed(nil, nil)
		x.Monolith.Trailer, x.Candidate.Trailer = whittle.Header{"Set-Cookie": {"sid=abcd-monolith; Path=/"}}, whittle.Header{"Set-Cookie": {"sid=efgh-candidate"}}
		j.Observe(x)
	}
	v := j.Verdict()
	if s := fmt.Sprintf("%+v", v); strings.Contains(s, "-monolith") || strings.Contains(s, "-candidate") || len(findingsOf(&v, whittle.FoundHeader)) > 0 {
		t.Errorf("%s", s)
	}
}
