package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"slices"
	"time"

	"whittle/load/engine"
	"whittle/load/expr"
	"whittle/load/plan"
)

// Timing is when and how one request was sent, redirects included.
type Timing struct {
	// Sent is when the generator began to send.
	Sent time.Time
	// First is when the first byte of the response came; zero: none came.
	First time.Time
	// Last is when the response ended; of a request that failed it means nothing.
	Last time.Time
	// Connect is how long opening a connection took; 0: an open one was used.
	Connect time.Duration
	// SentBytes and ReceivedBytes are headers and bodies.
	SentBytes, ReceivedBytes int64
}

// Client sends the requests of one virtual user: it has the user's connections,
// cookies and buffers. It is not safe for concurrent use.
type Client struct {
	// Headers are sent with every request, as name and value in turn.
	Headers []string

	net *Network
	// keepsCookies says that the user keeps cookies, and sendsCookies that the request under way sends
	// and stores them: they differ until a response has set one (HTTPSettings.LateCookies).
	keepsCookies, sendsCookies bool
	first                      string  // the target of the request under way before its redirects
	conns                      []*conn // the user's own connections by endpoint slot; nil with a pool
	jar                        *jar    // the user's cookies; nil until there are some
	// sessions are the TLS sessions that the user may resume, and no other: users are
	// machines that never met. Nil until there are some.
	sessions tls.ClientSessionCache
	out      []byte
	body     []byte
	resp     response
	last     *endpoint // the last request's
	// fiber and pools are set where the user runs on an event loop.
	fiber *engine.Fiber
	pools *LoopPools
}

// NewClient makes a client without connections and cookies.
func (n *Network) NewClient() *Client {
	c := &Client{net: n}
	if n.dialer.pool == 0 {
		c.conns = make([]*conn, n.origins.count())
	}
	return c
}

// UseFiber makes the client send on an event loop; without a fiber, on goroutines.
func (c *Client) UseFiber(f *engine.Fiber, pools *LoopPools) { c.fiber, c.pools = f, pools }

// Send sends a request of the plan, rendered for the user that scope is of, and reads
// its response. t.Sent is given. FailureKind names the error's kind for a report.
func (c *Client) Send(ctx context.Context, r *plan.Request, scope *expr.Scope, deadline time.Time, t *Timing) error {
	q, err := c.net.request(r)
	if err != nil {
		return err
	}
	c.first, c.last = "", nil
	if q, err = c.compose(q, scope, t.Sent); err != nil {
		return err
	}
	if err = c.exchange(ctx, q, deadline, t); err != nil {
		return err
	}
	if !q.BlindRedirects || !redirects(c.resp.status) {
		c.storeCookies(q)
	}
	if q.FollowRedirects && redirects(c.resp.status) {
		return c.followRedirects(ctx, q, scope, deadline, t)
	}
	return nil
}

// Response is the last response, for captures and expectations; its bytes are valid
// until the next Send.
func (c *Client) Response(scope *expr.Scope) expr.Response {
	a := expr.Response{Status: c.resp.status, Head: c.resp.head, Body: c.resp.body, Size: c.resp.size, Scope: scope}
	a.URL = c.Asked()
	return a
}

// Asked is where the last request was sent to, or would have been.
func (c *Client) Asked() string {
	if c.last == nil {
		return ""
	}
	return scheme(c.last) + c.last.host + requestTarget(c.out)
}

// Status is the last response's status.
func (c *Client) Status() int { return c.resp.status }

// Body is what was kept of the last response's body, valid until the next Send.
func (c *Client) Body() []byte { return c.resp.body }

// compose writes the request into c.out. The request that it returns has a URL even
// where the plan's has one only once it is rendered.
func (c *Client) compose(q *request, scope *expr.Scope, now time.Time) (*request, error) {
	if q.Address != nil {
		address := q.Address.Render(nil, scope)
		if len(q.Query) > 0 {
			sep := byte('?')
			if q.WholeURL { // its own query stands in place of that one, as in Artillery
				address, _, _ = bytes.Cut(address, []byte{'?'})
			}
			if bytes.IndexByte(address, sep) >= 0 {
				sep = '&'
			}
			end := len(address)
			if address = q.Query.Render(append(address, sep), scope); len(address) == end+1 {
				address = address[:end] // there is none
			}
		}
		located, err := c.net.origins.prepareURL(q.Request, string(address))
		if err != nil {
			return q, &redirectError{err.Error()}
		}
		q = located
	}
	c.sendsCookies = c.keepsCookies || !c.net.lateCookies || len(q.Cookies) > 0
	if len(q.Cookies) > 0 {
		c.setPlanCookies(q, scope)
	}
	c.render(q, scope, now)
	c.last = q.endpoint
	if q.Illegal != nil {
		if why := q.Illegal(requestTarget(c.out)); why != "" {
			return q, &targetError{why}
		}
	}
	return q, nil
}

func (c *Client) render(q *request, scope *expr.Scope, now time.Time) {
	c.renderWith(q, scope, now)
	if q.Logins != nil {
		c.logInAhead(q, scope, now)
	}
}

// renderWith renders with further headers, as name and value in turn.
func (c *Client) renderWith(q *request, scope *expr.Scope, now time.Time, extra ...string) {
	if len(extra) == 0 {
		extra = c.Headers
	} else {
		extra = append(slices.Clip(c.Headers), extra...)
	}
	cookies := c.jar
	if !c.sendsCookies {
		cookies = nil
	}
	c.out, c.body = q.render(c.out[:0], c.body, scope, extra, cookies, now)
}

// targetError says that a request was not sent, as its target has a character that no
// URL has, or the like.
type targetError struct{ why string }

func (e *targetError) Error() string { return "not sent: " + e.why }

// Reset ends the user: its connections are closed and its cookies dropped.
func (c *Client) Reset() {
	c.sessions = nil
	c.ClearCookies()
	c.CloseConnections()
}

// ClearCookies drops the user's cookies.
func (c *Client) ClearCookies() { c.jar, c.keepsCookies = nil, false }

// CloseConnections closes the user's own connections.
func (c *Client) CloseConnections() {
	for i, k := range c.conns {
		if k != nil {
			c.net.dialer.close(k)
			c.conns[i] = nil
		}
	}
}

// tlsSessions are the sessions that the next connection may resume: the user's or, of
// connections that all users share, the pool's.
func (c *Client) tlsSessions() tls.ClientSessionCache {
	if c.conns == nil {
		return c.net.dialer.sessions
	}
	if c.sessions == nil {
		c.sessions = tls.NewLRUClientSessionCache(userSessions)
	}
	return c.sessions
}

// userSessions is how many servers' TLS sessions a user keeps.
const userSessions = 8

// cookies is the user's jar.
func (c *Client) cookies() *jar {
	if c.jar == nil {
		c.jar = new(jar)
	}
	return c.jar
}

// Render returns the bytes that Send would write over HTTP/1.1. A request whose URL is
// no URL once it is rendered is an error.
func (c *Client) Render(r *plan.Request, scope *expr.Scope) ([]byte, error) {
	q, err := c.net.request(r)
	if err == nil {
		_, err = c.compose(q, scope, c.net.now())
	}
	return c.out, err
}
