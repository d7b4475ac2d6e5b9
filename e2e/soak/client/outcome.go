// Package client has the users of a soak: real clients of many kinds, each of which
// asks what a plan says and holds what comes back to it.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"whittle/e2e/soak/plan"
)

// Class is what became of a request.
type Class uint8

// The classes.
const (
	Whole   Class = iota // what the plan says
	Refused              // an error of a proxy's, in its own name
	Broken               // no response, or one that visibly broke off
	Left                 // the client went away itself
	Wrong                // not what the plan says, and no sign of it
	Mixed                // the response of another request
	Doubled              // a write was done twice
	Damaged              // the upstream got something else than what was sent
)

var classNames = [...]string{"whole", "refused", "broken", "left", "wrong", "mixed", "doubled", "damaged"}

func (c Class) String() string { return classNames[c] }

// Outcome is what became of a request, and how.
type Outcome struct {
	Class Class
	Text  string
	// Uncertain says that the request may not have reached the server.
	Uncertain bool
}

func broken(err error) Outcome { return Outcome{Class: Broken, Text: err.Error()} }

func unsent(err error) Outcome { return Outcome{Broken, err.Error(), true} }

// User is a client. One goroutine at a time uses it.
type User interface {
	// Ask asks for a plan.
	Ask(ctx context.Context, p *plan.Plan) Outcome
	Close()
}

// patience bounds a whole exchange.
const patience = 40 * time.Second

const piece = 32 << 10

// response is one that is to be checked.
type response struct {
	status  int
	header  http.Header
	body    io.Reader
	trailer *http.Header // filled when the body has ended
}

// check holds a response to its plan.
func check(p *plan.Plan, a *response) Outcome {
	of := a.header.Get(plan.Of)
	switch {
	case of == "" && a.status >= 400:
		text, _ := io.ReadAll(io.LimitReader(a.body, 200)) // the status says enough
		return Outcome{Class: Refused, Text: fmt.Sprintf("%d %.100q", a.status, text)}
	case of == "":
		return Outcome{Class: Wrong, Text: fmt.Sprintf("status %d and nothing of the upstream's, header %v", a.status, a.header)}
	case of != strconv.FormatUint(p.Number, 10):
		return Outcome{Class: Mixed, Text: fmt.Sprintf("the response of request %s, status %d", of, a.status)}
	case a.status == plan.StatusDoubled:
		return Outcome{Class: Doubled, Text: "the write was done before"}
	case a.status == plan.StatusDamaged:
		return Outcome{Class: Damaged, Text: "the upload arrived changed"}
	}
	if text := headWrong(p, a); text != "" {
		return Outcome{Class: Wrong, Text: text}
	}
	if err := verify(p, a.body); err != nil {
		return because(p, err)
	}
	if p.Trailer && (a.trailer == nil || a.trailer.Get(plan.Of+"-End") != of) {
		return Outcome{Class: Wrong, Text: fmt.Sprintf("the trailer is %v", a.trailer)}
	}
	return Outcome{}
}

// because tells a wrong content from a connection that broke. Where the end of the
// connection is that of the body, an upstream that ends in the middle of it cannot be
// told from one that is done: that is its plan's fault, or an outage, or an error.
func because(p *plan.Plan, err error) Outcome {
	m, wrong := errors.AsType[*plan.Mismatch](err)
	switch {
	case !wrong, m.Short && p.Framing == plan.ByClose && p.Fault.Harmless():
		return broken(err)
	case m.Mixed:
		return Outcome{Class: Mixed, Text: m.Error()}
	}
	return Outcome{Class: Wrong, Text: m.Error()}
}

func headWrong(p *plan.Plan, a *response) string {
	h := a.header
	switch {
	case a.status != p.Status:
		return fmt.Sprintf("status %d in place of %d", a.status, p.Status)
	case len(h["Set-Cookie"]) != 2 || h["Set-Cookie"][0] != "a=1" || h["Set-Cookie"][1] != "b=2":
		return fmt.Sprintf("cookies %q", h["Set-Cookie"])
	case h.Get("ETag") != `"soak"`:
		return fmt.Sprintf("ETag %q", h.Get("ETag"))
	case h.Get("X-Poison") != "":
		return "a field of what nobody asked for"
	case p.Way != plan.Events && p.Status != http.StatusNotModified && h.Get("Content-Type") != "application/octet-stream":
		return fmt.Sprintf("content type %q", h.Get("Content-Type"))
	case p.Framing == plan.ByLength && p.Status != http.StatusNoContent && p.Status != http.StatusNotModified &&
		h.Get("Content-Length") != strconv.Itoa(p.Length):
		return fmt.Sprintf("length %q in place of %d", h.Get("Content-Length"), p.Length)
	}
	return ""
}

func verify(p *plan.Plan, r io.Reader) error {
	switch want := p.Response(); {
	case p.Bodiless():
		return new(plan.Body).Verify(r)
	case p.Way != plan.Events:
		return want.Verify(r)
	}
	want := p.Stream()
	got, err := io.ReadAll(io.LimitReader(r, int64(len(want))+1))
	if err == nil && !bytes.Equal(got, want) {
		err = &plan.Mismatch{Text: fmt.Sprintf("in an event stream of %d bytes: %q", len(want), got)}
	}
	return err
}

// headers are the fields that a request has beyond those of its kind of client.
func headers(p *plan.Plan, user string) [][2]string {
	h := [][2]string{{plan.Header, p.Text()}, {"X-User", user}, {"Accept-Encoding", "identity"}}
	switch {
	case p.Way == plan.Events:
		h = append(h, [2]string{"Accept", "text/event-stream"})
	case p.Status == http.StatusNotModified:
		h = append(h, [2]string{"If-None-Match", `"soak"`})
	}
	return h
}
