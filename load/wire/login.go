package wire

import (
	"encoding/base64"
	"strings"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// loginFor is the name and password for a request's URL; nil: none.
func (c *Client) loginFor(q *request, target string, scope *expr.Scope) *plan.LoginEntry {
	if q.Login == nil {
		return nil
	}
	url := scheme(q.endpoint) + q.endpoint.host + target
	for i := range q.Login.Entries {
		e := &q.Login.Entries[i]
		if strings.HasPrefix(url, string(e.URL.Render(nil, scope))) {
			return e
		}
	}
	return nil
}

// basic is RFC 7617's header value. What is not ASCII is a question mark, as JMeter's
// client writes it.
func basic(e *plan.LoginEntry, scope *expr.Scope) string {
	pair := e.User.Render(nil, scope)
	pair = e.Password.Render(append(pair, ':'), scope)
	ascii := strings.Map(func(r rune) rune {
		if r > 0x7f {
			return '?'
		}
		return r
	}, string(pair))
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(ascii))
}

// logInAhead gives a rendered request its name and password where it sends them
// unasked.
func (c *Client) logInAhead(q *request, scope *expr.Scope, now time.Time) {
	if e := c.loginFor(q, requestTarget(c.out), scope); e != nil && !q.HasHeader("authorization") {
		c.renderWith(q, scope, now, "authorization", basic(e, scope))
	}
}
