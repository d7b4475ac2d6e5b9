package wire

import (
	"slices"
	"strings"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// basic is RFC 7617's header value. What is not ASCII is a question mark, as JMeter's
// client writes it.
func basic(e *plan.Login, scope *expr.Scope) string {
	pair := e.User.Render(nil, scope)
	pair = e.Password.Render(append(pair, ':'), scope)
	ascii := strings.Map(func(r rune) rune {
		if r > 0x7f {
			return '?'
		}
		return r
	}, string(pair))
	return plan.Basic(ascii)
}

// logInAhead gives a rendered request its name and password where it sends them
// unasked.
func (c *Client) logInAhead(q *request, scope *expr.Scope, now time.Time) {
	url := scheme(q.endpoint) + q.endpoint.host + requestTarget(c.out)
	i := slices.IndexFunc(q.Logins, func(l plan.Login) bool { return strings.HasPrefix(url, string(l.URL.Render(nil, scope))) })
	if i >= 0 && !q.HasHeader("authorization") {
		c.renderWith(q, scope, now, "authorization", basic(&q.Logins[i], scope))
	}
}
