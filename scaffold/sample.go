package scaffold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"whittle"
	"whittle/capture"
	"whittle/capture/har"
	"whittle/contract"
)

// Bounds of what becomes tests: exchanges of a method, of which the first have
// shapes of their own, and the bytes of each body.
const (
	maxExchanges = 24
	plainSamples = 8
	maxSample    = 64 << 10
)

// exchange is a recorded one as the project's tests read it.
type exchange struct {
	Method string  `json:"method"`
	Target string  `json:"target"`
	Type   string  `json:"content_type,omitempty"`
	Body   *string `json:"body,omitempty"`
	Base64 []byte  `json:"body_base64,omitempty"`
	Answer answer  `json:"answer"`
}

type answer struct {
	Status int     `json:"status"`
	Type   string  `json:"content_type,omitempty"`
	Body   *string `json:"body,omitempty"`
	Base64 []byte  `json:"body_base64,omitempty"`
}

// samples are the exchanges of one method.
type samples struct {
	exchanges []exchange
	seen      map[string]bool
	plain     int
	// asked counts exchanges by method, whether they are kept or not.
	asked int
}

// sample reads the log once and keeps a covering sample: one exchange of each
// shape, and a few more.
func sample(c *contract.Contract, entries iter.Seq2[*capture.Entry, error]) (map[string]*samples, error) {
	mux := http.NewServeMux()
	byPattern := map[string]string{}
	out := map[string]*samples{}
	for i := range c.Methods {
		m := &c.Methods[i]
		pattern := m.HTTP.Method + " " + m.HTTP.Pattern
		mux.Handle(pattern, http.NotFoundHandler())
		byPattern[pattern] = m.Name
		out[m.Name] = &samples{seen: map[string]bool{}}
	}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if e.Served != whittle.Monolith || e.Answer.Failure != whittle.NoFailure || e.Request.Truncated || e.Answer.Truncated {
			continue
		}
		u, err := url.ParseRequestURI(e.Request.Target)
		if err != nil {
			continue
		}
		_, pattern := mux.Handler(&http.Request{Method: e.Request.Method, URL: u, Host: "monolith"})
		if s := out[byPattern[pattern]]; s != nil && e.Request.Method == strings.SplitN(pattern, " ", 2)[0] {
			s.add(e, u)
		}
	}
	return out, nil
}

func (s *samples) add(e *capture.Entry, u *url.URL) {
	s.asked++
	if len(s.exchanges) >= maxExchanges {
		return
	}
	asked, ok := decoded(e.Request.Header, e.Request.Body)
	answered, fine := decoded(e.Answer.Header, e.Answer.Body)
	if !ok || !fine || len(asked) > maxSample || len(answered) > maxSample {
		return
	}
	shape := fmt.Sprint(e.Answer.Status, e.Answer.Header.Get("Content-Type"), slices.Sorted(maps.Keys(u.Query())), shapeOf(asked), shapeOf(answered))
	if s.seen[shape] {
		if s.plain++; s.plain > plainSamples {
			return
		}
	}
	s.seen[shape] = true
	x := exchange{
		Method: e.Request.Method, Target: e.Request.Target, Type: e.Request.Header.Get("Content-Type"),
		Answer: answer{Status: e.Answer.Status, Type: e.Answer.Header.Get("Content-Type")},
	}
	x.Body, x.Base64 = text(asked)
	x.Answer.Body, x.Answer.Base64 = text(answered)
	s.exchanges = append(s.exchanges, x)
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

// decoded takes a body out of its encoding; false: it cannot be.
func decoded(h whittle.Header, body []byte) ([]byte, bool) {
	return har.Unpacked(&whittle.Answer{Header: h, Body: body})
}

// shapeOf is a JSON text without its values; other texts have one shape.
func shapeOf(b []byte) string {
	var v any
	if json.Unmarshal(b, &v) != nil {
		return fmt.Sprint("text", len(b) > 0)
	}
	var out strings.Builder
	shape(&out, v, 0)
	return out.String()
}

func shape(out *strings.Builder, v any, depth int) {
	if depth > 32 || out.Len() > 4<<10 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		out.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out.WriteString(k + ":")
			shape(out, v[k], depth+1)
		}
		out.WriteByte('}')
	case []any:
		// The shapes of items, each once: a longer list is no other shape.
		seen := map[string]bool{}
		for _, item := range v {
			var one strings.Builder
			shape(&one, item, depth+1)
			seen[one.String()] = true
		}
		fmt.Fprint(out, slices.Sorted(maps.Keys(seen)))
	default:
		fmt.Fprintf(out, "%T", v)
	}
}
