package gateway

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"whittle"
)

// Matcher finds the route of a recorded request by the gateway's rules. It is
// immutable.
type Matcher struct {
	t *table
	// at is each rule's place among the routes.
	at map[*entry]int
}

// NewMatcher compiles the routes' matches. Errors carry the Field
// "routes[i].match".
func NewMatcher(routes []whittle.Route) (*Matcher, error) {
	t := &table{rest: &entry{}}
	t.entries = []*entry{t.rest}
	m := &Matcher{t: t, at: map[*entry]int{t.rest: -1}}
	for i := range routes {
		e, err := t.rule(&routes[i])
		if err != nil {
			return nil, inField(err, "routes["+strconv.Itoa(i)+"]")
		}
		t.add(e)
		m.at[e] = i
	}
	t.order()
	return m, nil
}

// Match gives the index of the narrowest route that matches, -1 where none
// does or the target is none.
func (m *Matcher) Match(q *whittle.Request) int {
	u, err := url.ParseRequestURI(q.Target)
	if err != nil || !strings.HasPrefix(u.Path, "/") {
		return -1
	}
	return m.at[m.t.match(&http.Request{Method: q.Method, URL: u, Header: http.Header(q.Header)})]
}
