package infer

import (
	"testing"

	"whittle"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
)

// Endpoints may be joined while the log is still read: what they respond with afterwards is
// counted as before, a form as a text.
func TestWhatAJoinedEndpointRespondsWith(t *testing.T) {
	whole := newEndpoint("GET", []pattern.Segment{{Literal: "a"}, {Wildcard: true, Chosen: true}}, 1)
	one := newEndpoint("GET", []pattern.Segment{{Literal: "a"}, {Literal: "x"}}, 2)
	x := entry("GET", "/a/x", "", "total=1")
	x.Response.Header = whittle.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	b := shape.Bounds{Most: 100, Depth: 10}
	one.see(x, []string{"a", "x"}, nil, &b)
	whole.absorb(one, 1)
	whole.see(x, []string{"a", "x"}, nil, &b)
	if a := whole.responses[200]; a.text != 2 || a.form != 0 {
		t.Errorf("of two responses %d are texts and %d forms", a.text, a.form)
	}
}
