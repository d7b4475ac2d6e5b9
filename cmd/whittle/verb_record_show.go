package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"whittle/cmdline"

	"whittle"
	"whittle/record/capture"
	"whittle/record/journal"
	"whittle/record/redact"
)

// followEvery is how often a log that is written to is looked at again.
const followEvery = 200 * time.Millisecond

// defaultShown is how many exchanges are listed unless another number is given.
const defaultShown = 50

// maxShown bounds how much of a body is printed; JSON has all of it.
const maxShown = 64 << 10

type recordShow struct {
	Log    string `arg:"" placeholder:"DIR" help:"A folder that was recorded into, or one of its segments."`
	Number int64  `arg:"" optional:"" name:"n" placeholder:"N" help:"Show this exchange whole, by its number in the list."`
	chosen
	Limit  *int64 `placeholder:"N" help:"How many (50; with --follow all); 0: all."`
	Follow bool   `short:"f" help:"Show exchanges as they are recorded, from now on."`
	JSON   string `name:"json" placeholder:"FILE" help:"Write them as JSON, one a line, with headers and bodies (\"-\": standard output)."`
}

// Help gives the examples.
func (recordShow) Help() string {
	return `Lists exchanges, oldest first, each with the number by which it can be shown whole. Numbers count what the log has now, so they change when old segments go.

Examples:
  whittle record show recorded --route 'POST /Count' --status 5xx
  whittle record show recorded 17
  whittle record show recorded --follow
  whittle record show recorded --limit 0 --json - | jq -r .request.target | sort | uniq -c`
}

// Run shows the exchanges.
func (v *recordShow) Run(ctx context.Context, s cmdline.Streams) error {
	filter, err := v.filter()
	if err != nil {
		return err
	}
	if v.Number != 0 {
		if v.Number < 0 || v.Follow || v.Route != "" || len(v.Status) > 0 {
			return whittle.Errorf(whittle.Invalid, "record show: one number, from 1 on, is shown by itself").
				WithHint("leave out --route, --status and --follow, or the number")
		}
		filter = journal.Filter{}
	}
	if v.Follow && filter.From.IsZero() {
		filter.From = time.Now()
	}
	r, err := journal.Open(v.Log)
	if err != nil {
		return err
	}
	defer r.Close()
	if v.JSON == "" || v.JSON == "-" {
		return v.show(ctx, s, s.Out, r, filter)
	}
	return writeFile(v.JSON, func(w io.Writer) error { return v.show(ctx, s, w, r, filter) })
}

func (v *recordShow) show(ctx context.Context, s cmdline.Streams, w io.Writer, r *journal.Reader, filter journal.Filter) error {
	shown, limit := int64(0), v.limit()
	for {
		e, err := r.Next(ctx, filter)
		if errors.Is(err, io.EOF) && v.Follow {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(followEvery):
				continue
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		n := r.Number()
		if v.Number != 0 && n != v.Number || !v.takes(&e.Response) {
			continue
		}
		if limit > 0 && shown == limit {
			if v.JSON == "" {
				fmt.Fprintf(w, "  … more: --limit 0 shows all\n")
			}
			return nil
		}
		shown++
		switch {
		case v.JSON != "":
			err = writeExchange(w, n, e)
		case v.Number != 0:
			showExchange(w, n, e, rulesOf(r.About()))
		default:
			showLine(w, n, e)
		}
		if err != nil || v.Number != 0 {
			return err
		}
	}
	if v.JSON != "-" {
		sayDamages(cmdline.NewScreen(s), r.Damages())
	}
	if v.Number != 0 {
		return whittle.Errorf(whittle.NotFound, "record show: %s has no exchange %d", v.Log, v.Number).
			WithHint("whittle record ls " + v.Log + " says how many it has")
	}
	if shown == 0 && v.JSON == "" {
		fmt.Fprintln(w, "No exchange is like that.")
	}
	return nil
}

// limit is how many exchanges are shown; 0: all.
func (v *recordShow) limit() int64 {
	switch {
	case v.Limit != nil:
		return *v.Limit
	case v.Follow:
		return 0
	}
	return defaultShown
}

func showLine(w io.Writer, n int64, e *capture.Entry) {
	route := ""
	if e.Route != "" && e.Route != e.Request.Method+" "+capture.PathShape(e.Request.Target) {
		route = "  (" + harmless(e.Route) + ")"
	}
	fmt.Fprintf(w, "  %6d  %s  %-9s %9s %8s  %s%s\n", n, e.At.Local().Format("2006-01-02 15:04:05.000"), outcome(&e.Response),
		e.Response.Latency.Round(10*time.Microsecond), sized(int64(len(e.Response.Body))), requestLine(e), route)
}

func showExchange(w io.Writer, n int64, e *capture.Entry, by *redact.Description) {
	fmt.Fprintf(w, "exchange %d at %s, served by the %s in %s\n", n, e.At.Local().Format(time.RFC3339Nano), e.Served, e.Response.Latency)
	if e.Route != "" {
		fmt.Fprintf(w, "route %s\n", harmless(e.Route))
	}
	if e.Conn != 0 {
		fmt.Fprintf(w, "connection %d\n", e.Conn)
	}
	fmt.Fprintf(w, "redacted by %s\n", redactedBy(by))
	fmt.Fprintf(w, "\n%s\n", requestLine(e))
	showHeader(w, "Host: "+e.Request.Host, e.Request.Header)
	showBody(w, e.Request.Body, e.Request.Truncated)
	if e.Response.Failure != whittle.NoFailure {
		fmt.Fprintf(w, "\nno response: %s %s\n", e.Response.Failure, harmless(e.Response.Detail))
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
		fmt.Fprintln(w, harmless(first))
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fmt.Fprintf(w, "%s: %s\n", harmless(name), harmless(value))
		}
	}
}

func showBody(w io.Writer, body []byte, truncated bool) {
	shown := body[:min(len(body), maxShown)]
	switch {
	case len(body) == 0:
	case !utf8.Valid(body):
		fmt.Fprintf(w, "\n(%s that are no text)\n", sized(int64(len(body))))
	default:
		fmt.Fprintf(w, "\n%s\n", strings.TrimSuffix(harmless(string(shown)), "\n"))
	}
	if len(shown) < len(body) {
		fmt.Fprintf(w, "(%s in all: --json - has them)\n", sized(int64(len(body))))
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

func writeExchange(w io.Writer, n int64, e *capture.Entry) error {
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
