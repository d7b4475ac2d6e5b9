package wire

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"whittle/load/expr"
)

// MaxRedirects is how many redirects are followed for one request.
const MaxRedirects = 10

// redirectError says why a redirect was not followed.
type redirectError struct{ why string }

func (e *redirectError) Error() string { return "redirect: " + e.why }

// redirects reports whether a status is a redirect that is followed (RFC 9110,
// section 15.4).
func redirects(status int) bool {
	return status >= 301 && status <= 303 || status == 307 || status == 308
}

// followRedirects follows redirects until a response is none. All of it counts as
// one request, timed from its first one.
func (c *Client) followRedirects(ctx context.Context, q *request, scope *expr.Scope, deadline time.Time, t *Timing) error {
	c.first = requestTarget(c.out)
	cookie := c.sentCookie()
	for range MaxRedirects {
		if q.Redirect != nil {
			if _, follow := q.Redirect(q.Method, c.resp.status); !follow {
				return nil
			}
		}
		where := (&expr.Response{Head: c.resp.head}).Header("location")
		if where == "" {
			return nil // as in browsers, this is then the response
		}
		next, err := c.net.origins.prepareRedirect(q, requestTarget(c.out), where, c.resp.status)
		if err != nil {
			return err
		}
		q = next
		if q.BlindRedirects {
			c.renderBlind(q, scope, cookie)
		} else {
			c.render(q, scope, c.net.now())
		}
		if err := c.exchangeAgain(ctx, q, deadline, t); err != nil {
			return err
		}
		last := !redirects(c.resp.status)
		if last || !q.BlindRedirects {
			c.storeCookies(q)
		}
		if last {
			return nil
		}
	}
	return &redirectError{"more than ten"}
}

// sentCookie is the line of the rendered request that has its cookies, with its end; nil:
// there is none.
func (c *Client) sentCookie() []byte {
	head, _, _ := bytes.Cut(c.out, []byte("\r\n\r\n"))
	for line := range bytes.SplitSeq(head, crlf) {
		if name, _, ok := bytes.Cut(line, []byte{':'}); ok && string(name) == "cookie" {
			return append(bytes.Clone(line), crlf...)
		}
	}
	return nil
}

// renderBlind renders a request with the cookies of another in place of the user's.
func (c *Client) renderBlind(q *request, scope *expr.Scope, cookie []byte) {
	uses := c.sendsCookies
	c.sendsCookies = false
	c.render(q, scope, c.net.now())
	c.sendsCookies = uses
	if at := bytes.Index(c.out, crlf); len(cookie) > 0 && at >= 0 {
		c.out = slices.Insert(c.out, at+len(crlf), cookie...)
	}
}

// requestTarget is the path with query of a rendered request.
func requestTarget(request []byte) string {
	line, _, _ := bytes.Cut(request, crlf)
	_, rest, _ := bytes.Cut(line, []byte{' '})
	target, _, _ := bytes.Cut(rest, []byte{' '})
	return string(target)
}

// prepareRedirect prepares the request that follows a redirect. Credentials and cookies are
// not sent to another server. As in browsers, methods other than GET and HEAD become a GET
// without a body; 307 and 308 keep the method, and for requests with KeepMethod 301 and 302
// do, too.
func (o *origins) prepareRedirect(q *request, target, where string, status int) (*request, error) {
	from, err := url.Parse(scheme(q.endpoint) + q.endpoint.host + target)
	if err != nil {
		return nil, &redirectError{"from " + target}
	}
	to, err := from.Parse(where)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return nil, &redirectError{"to " + where[:min(len(where), 100)]}
	}
	r := *q.Request
	drop := map[string]bool{"host": true}
	if r.Redirect != nil {
		next, _ := r.Redirect(r.Method, status)
		if next != r.Method || next == http.MethodGet || next == http.MethodHead {
			r.Method, r.Body, r.HasBody, r.ContentType = next, nil, false, ""
		}
	} else if status <= 303 && (status == 303 || !r.KeepMethod) && r.Method != http.MethodGet && r.Method != http.MethodHead {
		r.Method, r.Body, r.HasBody = http.MethodGet, nil, false
		drop["content-type"] = !r.KeepMethod // which Artillery sends nevertheless
	}
	if !strings.EqualFold(to.Host, from.Host) || to.Scheme != from.Scheme {
		drop["authorization"], drop["cookie"] = true, true
	}
	r.Headers, r.Cookies = nil, nil
	for _, h := range q.Headers {
		if !drop[h.Name] {
			r.Headers = append(r.Headers, h)
		}
	}
	at, err := o.find(to.Scheme + "://" + to.Host)
	if err != nil {
		return nil, &redirectError{"to " + to.Host}
	}
	if !drop["authorization"] {
		at.login = q.login
	}
	path := to.EscapedPath()
	if path == "" {
		path = "/"
	}
	if to.RawQuery != "" {
		path += "?" + to.RawQuery
	}
	r.Path = expr.Template(nil).Literal(string(expr.AppendTarget(nil, path)))
	return prepareRequest(&r, at), nil
}
