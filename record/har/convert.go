package har

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"whittle"
	"whittle/internal/http1"
	"whittle/record/capture"
)

// convert makes an exchange of an entry, or says why it is none.
func (r *Reader) convert(h *entry) (*capture.Entry, error) {
	switch {
	case h.FromCache != "":
		return nil, r.skip("the response came from the browser's cache")
	case h.ResourceType == "websocket", h.Response.Status == 101:
		return nil, r.skip("it became another protocol, such as WebSocket")
	case !http1.IsToken(string(h.Request.Method)):
		return nil, r.skip("request.method is %q", cut(h.Request.Method))
	case lowerCase(string(h.Request.Method)):
		return nil, r.skip("request.method is %q: methods are in upper case, and servers refuse it", cut(h.Request.Method))
	case h.Request.Method == http.MethodConnect:
		return nil, r.skip("it opened a tunnel")
	}
	at, err := began(string(h.Started))
	if err != nil {
		return nil, r.skip("startedDateTime is %q", cut(h.Started))
	}
	target, host, port, err := address(string(h.Request.URL))
	if err != nil {
		return nil, r.skip("request.url: %v", err)
	}
	e := &capture.Entry{
		Conn: r.connection(h.Connection, port),
		At:   at.UTC(),
		Request: whittle.Request{
			Method: string(h.Request.Method), Target: target, Host: host,
			Header: header(h.Request.Headers),
		},
	}
	if name := authority(h.Request.Headers); name != "" {
		e.Request.Host = name
	}
	if c := e.Request.Header["Cookie"]; len(c) > 1 {
		e.Request.Header["Cookie"] = []string{strings.Join(c, "; ")} // HTTP/2 sends crumbs
	}
	if err := sent(&e.Request, &h.Request); err != nil {
		return nil, r.skip("request.postData: %v", err)
	}
	if err := fillResponse(&e.Response, h); err != nil {
		return nil, r.skip("response.content: %v", err)
	}
	if s := site(host); len(r.sites) <= maxSites && !slices.Contains(r.sites, s) {
		r.sites = append(r.sites, s)
	}
	return e, nil
}

// site is the registered name that a host is below. A host without one is a site of its own.
func site(host string) string {
	name := strings.ToLower(strings.TrimSuffix((&url.URL{Host: host}).Hostname(), "."))
	if registered, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return registered
	}
	return name
}

// lowerCase reports whether a method is one of HTTP's in lower case, which is another method
// (RFC 9110, 9.1).
func lowerCase(method string) bool {
	upper := strings.ToUpper(method)
	return upper != method && slices.Contains([]string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace,
	}, upper)
}

// bodiless reports whether a response has no body whatever its header says (RFC
// 9110, 6.4.1).
func bodiless(method string, status int) bool {
	return method == http.MethodHead || status < 200 || status == http.StatusNoContent || status == http.StatusNotModified
}

// fillResponse fills in the response, or the failure to give one.
func fillResponse(a *whittle.Response, h *entry) error {
	a.Latency = latency(h)
	status := int(h.Response.Status)
	if status < 100 || status > 999 {
		a.Failure, a.Detail = failure(&h.Response)
		return nil
	}
	a.Status = status
	a.Header = header(h.Response.Headers)
	if kind := string(h.Response.Content.MimeType); a.Header.Get("Content-Type") == "" && strings.Contains(kind, "/") {
		if a.Header == nil {
			a.Header = whittle.Header{}
		}
		a.Header["Content-Type"] = []string{kind}
	}
	return received(a, &h.Response, bodiless(string(h.Request.Method), status))
}

// chromes are parts of Chrome's names for what went wrong with a request.
// Others are the user's or the browser's doing.
var chromes = []struct {
	word string
	is   whittle.Failure
}{
	{"TIMED_OUT", whittle.FailedTimeout},
	{"CONNECTION_REFUSED", whittle.FailedConnect},
	{"NAME_NOT_RESOLVED", whittle.FailedConnect},
	{"UNREACHABLE", whittle.FailedConnect},
	{"ERR_SSL_", whittle.FailedConnect},
	{"ERR_CERT_", whittle.FailedConnect},
	{"CONNECTION_RESET", whittle.FailedReset},
	{"CONNECTION_CLOSED", whittle.FailedReset},
	{"EMPTY_RESPONSE", whittle.FailedReset},
	{"INVALID_HTTP", whittle.FailedMalform},
}

// failure says why there is no response, by Chrome's word.
func failure(r *response) (whittle.Failure, string) {
	said := string(cmp.Or(r.Error, r.ErrorText))
	for _, f := range chromes {
		if strings.Contains(said, f.word) {
			return f.is, said
		}
	}
	said = cmp.Or(said, "the HAR has no response")
	return whittle.FailedCanceled, said
}

// latency is the time from the first byte sent to the last one read, or the
// whole time where the parts are not known.
func latency(h *entry) time.Duration {
	sum := number(0)
	for _, part := range []number{h.Timings.Send, h.Timings.Wait, h.Timings.Receive} {
		sum += max(0, part)
	}
	sum = cmp.Or(sum, max(0, h.Time))
	const longest = 24 * time.Hour
	return time.Duration(min(float64(sum)*float64(time.Millisecond), float64(longest)))
}

// connection numbers the connections. Firefox writes the server's port there,
// which distinguishes none.
func (r *Reader) connection(name text, port string) uint64 {
	if name == "" || string(name) == port || len(name) > 64 {
		return 0
	}
	n, seen := r.conns[name]
	if !seen && len(r.conns) < maxConnections {
		n = uint64(len(r.conns)) + 1
		r.conns[name] = n
	}
	return n
}

// began reads a time as ISO 8601 has it. Without a zone it is UTC.
func began(s string) (at time.Time, err error) {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	} {
		if at, err = time.Parse(layout, s); err == nil {
			return at, nil
		}
	}
	return at, err
}

// cut keeps a message short.
func cut(t text) string {
	if len(t) > 64 {
		return string(t[:64]) + "…"
	}
	return string(t)
}
