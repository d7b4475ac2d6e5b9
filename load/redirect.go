package load

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"whittle/load/expr"
)

// maxRedirects is how many redirects are followed for one request.
const maxRedirects = 10

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
func (w *worker) followRedirects(ctx context.Context, q *prepared, deadline time.Time, o *observation) error {
	sent, connect := o.sent, o.connect
	for range maxRedirects {
		where := w.resp.header("location")
		if where == "" {
			return nil // as in browsers, this is then the response
		}
		next, err := w.run.origins.prepareRedirect(q, requestTarget(w.out), where, w.resp.status)
		if err != nil {
			return err
		}
		q = next
		w.out, w.body = q.render(w.out[:0], w.body, &w.scope, w.extra, w.jar, w.run.now())
		o.connect = 0
		err = w.exchange(ctx, q, deadline, o)
		connect += o.connect
		o.sent, o.connect = sent, connect
		if err != nil {
			return err
		}
		w.storeCookies(q)
		if !redirects(w.resp.status) {
			return nil
		}
	}
	return &redirectError{"more than ten"}
}

// requestTarget is the path with query of a rendered request.
func requestTarget(request []byte) string {
	line, _, _ := bytes.Cut(request, crlf)
	_, rest, _ := bytes.Cut(line, []byte{' '})
	target, _, _ := bytes.Cut(rest, []byte{' '})
	return string(target)
}

// prepareRedirect prepares the request that follows a redirect. As in browsers,
// methods other than GET and HEAD become a GET without a body, except by 307 and
// 308, and credentials and cookies are not sent to another server.
func (o *origins) prepareRedirect(q *prepared, target, where string, status int) (*prepared, error) {
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
	if status <= 303 && r.Method != http.MethodGet && r.Method != http.MethodHead {
		r.Method, r.Body, r.HasBody = http.MethodGet, nil, false
		drop["content-type"] = true
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
