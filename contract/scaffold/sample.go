package scaffold

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/shape"
	"whittle/record/capture"
	"whittle/record/har"
)

// Bounds of the tests: exchanges of a method, of all methods together, and the
// bytes of each body. A method has at least leastExchanges.
const (
	maxExchanges   = 100
	leastExchanges = 24
	allExchanges   = 1000
	maxSample      = 64 << 10
)

// exchange is a recorded exchange as the project's tests read it.
type exchange struct {
	Method string  `json:"method"`
	Target string  `json:"target"`
	Type   string  `json:"content_type,omitempty"`
	Body   *string `json:"body,omitempty"`
	Base64 []byte  `json:"body_base64,omitempty"`
	// Header says who asked, as it was redacted: logic of one's own may need it.
	Header   map[string]string `json:"header,omitempty"`
	Response response          `json:"response"`
}

type response struct {
	Status int     `json:"status"`
	Type   string  `json:"content_type,omitempty"`
	Body   *string `json:"body,omitempty"`
	Base64 []byte  `json:"body_base64,omitempty"`
	// Location and Cookies are the headers that define a redirect or a login:
	// the target, and the names of the cookies.
	Location string   `json:"location,omitempty"`
	Cookies  []string `json:"cookies,omitempty"`
}

// samples are the exchanges of one method.
type samples struct {
	exchanges []exchange
	// asked counts exchanges by method, whether they are kept or not.
	asked int
	// coverage is what the exchanges, and what the plan's requests, stand for.
	coverage, planned capture.Coverage
	chosen            capture.Sample[exchange]
	// locations has the redirect targets by request, to see whether one request
	// was redirected to several: then a service cannot be tested for one of
	// them.
	locations map[capture.RequestKey]string
	wanders   bool
}

// sample reads the log once and keeps a covering sample of each method: distinct
// requests, each with the kinds of responses that it got, failures too.
func sample(c *contract.Contract, entries iter.Seq2[*capture.Entry, error]) (map[string]*samples, error) {
	router, names := contract.NewRouter(), map[string]string{}
	out := map[string]*samples{}
	room := min(maxExchanges, max(leastExchanges, allExchanges/max(1, len(c.Methods))))
	for i := range c.Methods {
		m := &c.Methods[i]
		if err := router.Add(m.Endpoint()); err != nil {
			return nil, whittle.Errorf(whittle.Internal, "read exchanges: %w", err)
		}
		names[m.Endpoint()] = m.Name
		out[m.Name] = &samples{chosen: capture.Sample[exchange]{Room: room, Bytes: room * maxSample}, locations: map[capture.RequestKey]string{}}
	}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if e.Served != whittle.Monolith || e.Response.Failure != whittle.NoFailure || e.Request.Truncated || e.Response.Truncated {
			continue
		}
		if endpoint, target := router.Of(&e.Request); endpoint != "" {
			out[names[endpoint]].add(e, target)
		}
	}
	for _, s := range out {
		s.settle()
	}
	return out, nil
}

// inputOf returns the part of a request that a test sends.
func inputOf(x *exchange) capture.RequestKey {
	q := whittle.Request{Method: x.Method, Target: x.Target, Header: whittle.Header{"Content-Type": {x.Type}}, Body: x.Base64}
	if x.Body != nil {
		q.Body = []byte(*x.Body)
	}
	return capture.KeyOf(&q)
}

func (s *samples) add(e *capture.Entry, u *url.URL) {
	s.asked++
	asked, ok := decoded(e.Request.Header, e.Request.Body)
	body, fine := decoded(e.Response.Header, e.Response.Body)
	if !ok || !fine {
		return
	}
	x := exchange{
		Method: e.Request.Method, Target: e.Request.Target, Type: e.Request.Header.Get("Content-Type"),
		Response: response{Status: e.Response.Status, Type: e.Response.Header.Get("Content-Type")},
	}
	x.Body, x.Base64 = text(asked)
	for _, name := range contract.Credentials {
		if v := e.Request.Header.Get(name); v != "" {
			if x.Header == nil {
				x.Header = map[string]string{}
			}
			x.Header[name] = v
		}
	}
	input := inputOf(&x)
	x.Response.headers(e.Response.Header)
	s.wander(input, x.Response.Location)
	kind := fmt.Sprint(e.Response.Status, x.Response.Type, slices.Sorted(maps.Keys(u.Query())), shapeOf(asked), shapeOf(body))
	s.chosen.See(input, kind, len(asked)+len(body), func() (exchange, bool) {
		x.Response.Body, x.Response.Base64 = text(body)
		return x, len(asked) <= maxSample && len(body) <= maxSample
	})
}

// headers keeps the headers of a response that a service's own logic has to
// set.
func (a *response) headers(h whittle.Header) {
	if a.Status/100 == 3 && !strings.Contains(h.Get("Location"), "redacted-") {
		a.Location = h.Get("Location")
	}
	for _, line := range h["Set-Cookie"] {
		if name, _, ok := strings.Cut(line, "="); ok && !slices.Contains(a.Cookies, name) {
			a.Cookies = append(a.Cookies, strings.TrimSpace(name))
		}
	}
}

// wander notes whether one request is redirected to several targets.
func (s *samples) wander(input capture.RequestKey, to string) {
	if to == "" || s.wanders {
		return
	}
	if was, known := s.locations[input]; known && was != to {
		s.wanders = true
	} else if len(s.locations) < 4096 {
		s.locations[input] = to
	}
}

// settle chooses, now that all of the log was seen.
func (s *samples) settle() {
	s.exchanges, s.coverage = s.chosen.Chosen(), s.chosen.Coverage()
	if s.wanders {
		for i := range s.exchanges {
			s.exchanges[i].Response.Location = ""
		}
	}
}

// text gives a body as a string where it is one.
func text(b []byte) (*string, []byte) {
	switch {
	case len(b) == 0:
		return nil, nil
	case utf8.Valid(b):
		return new(string(b)), nil
	}
	return nil, bytes.Clone(b)
}

// decoded removes a body's encoding; it returns false where that is impossible.
func decoded(h whittle.Header, body []byte) ([]byte, bool) {
	return har.Unpacked(&whittle.Response{Header: h, Body: body})
}

// shapeOf is what a JSON text looks like without its values; all other texts look alike.
func shapeOf(b []byte) string {
	v, err := document.Parse(b)
	if err != nil {
		return fmt.Sprint("text", len(b) > 0)
	}
	return fmt.Sprint(shape.Structure(v, document.MaxDepth))
}
