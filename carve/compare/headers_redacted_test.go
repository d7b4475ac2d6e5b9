package compare

import (
	"fmt"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/jsonpath"
)

// stars redacts what follows "secret=".
type stars struct{}

func (stars) Request(q *whittle.Request) {
	q.Target, q.Body = star(q.Target), []byte(star(string(q.Body)))
}

func (stars) Value(_ []jsonpath.Element, v []byte) []byte { return []byte(star(string(v))) }

func (stars) Response(a *whittle.Response) {
	h := whittle.Header{}
	for name, values := range a.Header {
		for _, v := range values {
			h[name] = append(h[name], star(v))
		}
	}
	a.Header, a.Body = h, []byte(star(string(a.Body)))
}

func star(s string) string {
	if before, _, ok := strings.Cut(s, "secret="); ok {
		return before + "***"
	}
	return s
}

// TestHeadersAreShownRedacted: nothing that is secret is kept or shown of a header,
// and two that are the same but for it differ.
func TestHeadersAreShownRedacted(t *testing.T) {
	a, b := whittle.Header{"Location": {"/in?secret=abc"}}, whittle.Header{"Location": {"/in?secret=xyz"}, "Link": {"secret=xyz"}}
	see := func(j *Judge) {
		for range 5 {
			x := headed(a, b)
			x.Request.Target, x.Request.Body = "/in?secret=xyz", []byte("secret=xyz")
			x.Monolith.Body, x.Candidate.Body = []byte("secret=abc"), []byte("secret=abc")
			j.Observe(x)
		}
	}
	j := headerJudge(t)
	see(j)
	k := headerJudge(t)
	k.Redact(stars{})
	restore(t, j, k)
	fresh := headerJudge(t)
	fresh.Redact(stars{})
	see(fresh)
	for _, j := range []*Judge{k, fresh} {
		kept := stateOf(t, j)
		v := j.Verdict()
		cov := v.Coverage
		v.Coverage = nil // an address may have any digits
		if s := fmt.Sprintf("%s %+v %+v", kept, v, cov); strings.Contains(s, "abc") || strings.Contains(s, "xyz") || len(findingsOf(&v, whittle.FoundHeader)) != 2 {
			t.Errorf("%s", s)
		}
	}
}

// TestHeadersStayBounded: sixteen headers of ever new values, in JSON.
func TestHeadersStayBounded(t *testing.T) {
	t.Parallel()
	c := testMatch
	for i := range whittle.MaxHeaders {
		c.Headers = append(c.Headers, fmt.Sprintf("X-%d", i))
	}
	j := judgeOf(t, c)
	long := strings.Repeat("<\u00e9", 1500)
	for i := range 600 {
		a, b := whittle.Header{}, whittle.Header{}
		for k, name := range c.Headers {
			if (i+k)%3 > 0 {
				a[name] = []string{fmt.Sprintf("%d%s", i, long)}
			}
			if (i+k)%5 > 0 {
				b[name] = []string{fmt.Sprintf("%d%s", -i, long)}
			}
		}
		x := headed(a, b)
		x.Request.Target, x.Monolith.Body, x.Candidate.Body = "/"+long, fmt.Appendf(nil, `{"k%d":%q}`, i, long), fmt.Appendf(nil, `{"j%d":%q}`, i, long)
		j.Observe(x)
	}
	kept := stateOf(t, j)
	v := j.Verdict()
	t.Logf("%d bytes are kept, of %d findings", len(kept), len(v.Findings))
	if n := len(findingsOf(&v, whittle.FoundHeader)); n == 0 || n > maxMarks {
		t.Errorf("%d findings of headers", n)
	}
	again := judgeOf(t, c)
	if err := again.UnmarshalBinary(kept); err != nil || len(findingsOf(new(again.Verdict()), whittle.FoundHeader)) != len(findingsOf(&v, whittle.FoundHeader)) {
		t.Errorf("restored: %v", err)
	}
}
