package header

import (
	"bytes"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/internal/jsonpath"
)

// fields redacts what stands at places of texts: by a header's name, and all of a cookie's value.
type fields struct{ of *display.View }

// ViewOf shows places of texts, where of shows exchanges.
func ViewOf(of *display.View) *display.View {
	v := &display.View{}
	v.RedactBy(fields{of})
	return v
}

func (f fields) Request(q *whittle.Request) { f.of.RedactRequest(q) }

func (f fields) Response(a *whittle.Response) { f.of.RedactResponse(a) }

func (f fields) Value(place []jsonpath.Element, v []byte) []byte {
	switch {
	case len(place) == 0:
		return []byte(f.of.Kept(nil, string(v)))
	case len(place) > 1:
		return []byte("…")
	}
	name := string(place[0].Key)
	if s, ok := bytes.CutPrefix(v, []byte{'"'}); ok { // or the beginning of a text
		v, _ = bytes.CutSuffix(s, []byte{'"'})
	}
	if len(v) == 0 || string(v) == Missing {
		return v
	}
	if name == SetCookie { // it has no value, but a path
		return []byte(f.of.Kept(nil, string(v)))
	}
	return []byte(f.of.HeaderValue(name, string(v)))
}
