package show

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"whittle"
	"whittle/internal/units"
	"whittle/record/capture"
	"whittle/record/redact"
)

// maxShown bounds how much of a body is printed; JSON has all of it.
const maxShown = 64 << 10

// PrintLine writes an exchange in one line.
func PrintLine(w io.Writer, n int64, e *capture.Entry) {
	route := ""
	if e.Route != "" && e.Route != e.Request.Method+" "+capture.PathShape(e.Request.Target) {
		route = "  (" + Harmless(e.Route) + ")"
	}
	fmt.Fprintf(w, "  %6d  %s  %-9s %9s %8s  %s%s\n", n, e.At.Local().Format("2006-01-02 15:04:05.000"), outcome(&e.Response),
		e.Response.Latency.Round(10*time.Microsecond), units.Size(int64(len(e.Response.Body))), RequestLine(e), route)
}

// PrintExchange writes all of an exchange.
func PrintExchange(w io.Writer, n int64, e *capture.Entry, by *redact.Description) {
	fmt.Fprintf(w, "exchange %d at %s, served by the %s in %s\n", n, e.At.Local().Format(time.RFC3339Nano), e.Served, e.Response.Latency)
	if e.Route != "" {
		fmt.Fprintf(w, "route %s\n", Harmless(e.Route))
	}
	if e.Conn != 0 {
		fmt.Fprintf(w, "connection %d\n", e.Conn)
	}
	fmt.Fprintf(w, "redacted by %s\n", redactedBy(by))
	fmt.Fprintf(w, "\n%s\n", RequestLine(e))
	showHeader(w, "Host: "+e.Request.Host, e.Request.Header)
	showBody(w, e.Request.Body, e.Request.Truncated)
	if e.Response.Failure != whittle.NoFailure {
		fmt.Fprintf(w, "\nno response: %s %s\n", e.Response.Failure, Harmless(e.Response.Detail))
	} else {
		fmt.Fprintf(w, "\n%d\n", e.Response.Status)
	}
	showHeader(w, "", e.Response.Header)
	showBody(w, e.Response.Body, e.Response.Truncated)
	if len(e.Response.Trailer) > 0 {
		fmt.Fprintln(w)
		showHeader(w, "", e.Response.Trailer)
	}
}

func showHeader(w io.Writer, first string, h whittle.Header) {
	if first != "" {
		fmt.Fprintln(w, Harmless(first))
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fmt.Fprintf(w, "%s: %s\n", Harmless(name), Harmless(value))
		}
	}
}

func showBody(w io.Writer, body []byte, truncated bool) {
	shown := body[:min(len(body), maxShown)]
	switch {
	case len(body) == 0:
	case !utf8.Valid(body):
		fmt.Fprintf(w, "\n(%s that are no text)\n", units.Size(int64(len(body))))
	default:
		fmt.Fprintf(w, "\n%s\n", strings.TrimSuffix(Harmless(string(shown)), "\n"))
	}
	if len(shown) < len(body) {
		fmt.Fprintf(w, "(%s in all: --json - has them)\n", units.Size(int64(len(body))))
	}
	if truncated {
		fmt.Fprintln(w, "(too long or not redactable, so not all of it is kept)")
	}
}

// shownExchange is an exchange as a line of JSON.
type shownExchange struct {
	Number   int64         `json:"number"`
	At       time.Time     `json:"at"`
	Route    string        `json:"route,omitempty"`
	Conn     uint64        `json:"connection,omitempty"`
	Served   string        `json:"served"`
	Request  shownRequest  `json:"request"`
	Response shownResponse `json:"response"`
}

type shownRequest struct {
	Method string         `json:"method"`
	Target string         `json:"target"`
	Host   string         `json:"host"`
	Header whittle.Header `json:"header,omitempty"`
	shownBody
}

type shownResponse struct {
	Status  int             `json:"status,omitempty"`
	Failure whittle.Failure `json:"failure,omitempty"`
	Detail  string          `json:"detail,omitempty"`
	Latency float64         `json:"latency_ms"`
	Header  whittle.Header  `json:"header,omitempty"`
	Trailer whittle.Header  `json:"trailer,omitempty"`
	shownBody
}

// shownBody is a body as text, or as base64 where it is none.
type shownBody struct {
	Body      string `json:"body,omitempty"`
	Base64    []byte `json:"body_base64,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

func bodyOf(b []byte, truncated bool) shownBody {
	if utf8.Valid(b) {
		return shownBody{Body: string(b), Truncated: truncated}
	}
	return shownBody{Base64: b, Truncated: truncated}
}

// WriteJSON writes an exchange as a line of JSON.
func WriteJSON(w io.Writer, n int64, e *capture.Entry) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	a := &e.Response
	return enc.Encode(shownExchange{
		Number: n, At: e.At, Route: e.Route, Conn: e.Conn, Served: e.Served.String(),
		Request: shownRequest{e.Request.Method, e.Request.Target, e.Request.Host, e.Request.Header, bodyOf(e.Request.Body, e.Request.Truncated)},
		Response: shownResponse{
			a.Status, a.Failure, a.Detail, float64(a.Latency) / float64(time.Millisecond), a.Header, a.Trailer,
			bodyOf(a.Body, a.Truncated),
		},
	})
}
