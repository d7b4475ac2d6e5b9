package compare

import (
	"testing"

	"whittle"
	"whittle/carve/compare/display"
)

func TestWhatStandsAroundTheNumber(t *testing.T) {
	text := func(body string) whittle.Response {
		return whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(body)}
	}
	json := func(body string) whittle.Response {
		return whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
	}
	for _, tc := range []struct {
		value    string
		ignore   []string
		a, b     whittle.Response
		from, to string // empty: the same
	}{
		{"", nil, text("Counted to 50 \n"), text("Counted to -7.5e3 \n"), "", ""},
		{"", nil, text("Counted to 50 \n"), text("Counted to 51\n"), "$Counted to #␠␊", "$Counted to #␊"},
		{"", nil, text("Counted to 50 \n"), text("Counted 50 \n"), "$Counted to #␠␊", "$Counted #␠␊"},
		{"", nil, text("50 of 100"), text("51 of 100"), "", ""},
		{"", nil, text("50 of 100"), text("50 of 99"), "$# of 100", "$# of 99"},
		{"", nil, json(`{"a": 1, "b": "x"}`), json(`{"b":"x","a":2}`), "", ""},
		{"", nil, json(`{"a":1,"b":"x"}`), json(`{"a":1,"b":"y"}`), `$.b"x"`, `$.b"y"`},
		{"", nil, json(`{"total":"12345","b":"x"}`), json(`{"total":"12346","b":"x"}`), "", ""},
		{"", nil, json(`{"a":1,"b":["x","y"]}`), json(`{"a":1,"b":["y","x"]}`), "$.b2 elements", "$.banother order"},
		{"json.a", nil, json(`{"a":1,"n":5}`), json(`{"a":2,"n":5}`), "", ""},
		{"json.a", nil, json(`{"a":1,"n":5}`), json(`{"a":2,"n":6}`), "$.n5", "$.n6"},
		{`float(json["odd key"].a[0])`, nil, json(`{"odd key":{"a":[1,2]}}`), json(`{"odd key":{"a":[3,2]}}`), "", ""},
		{"json.a", []string{"$.id"}, json(`{"a":1,"id":"x"}`), json(`{"a":2,"id":"y"}`), "", ""},
		{"json.a", nil, json(`{"a":1}`), json(`{"a":2,"error":null}`), "$.errormissing", "$.errornull"},
		{"json.a + json.b", nil, json(`{"a":1,"b":2,"c":"x"}`), json(`{"a":3,"b":4,"c":"x"}`), "", ""},
		{"json.a + json.b", nil, json(`{"a":1,"b":2,"c":"x"}`), json(`{"a":3,"b":4,"c":"y"}`), `$.c"x"`, `$.c"y"`},
		{"len(body)", nil, text("a 1 b 2"), text("a 3 b 4"), "", ""},
		{"len(body)", nil, text("a 1 b 2"), text("a 1 c 2"), "$a # b #", "$a # c #"},
	} {
		c := whittle.Comparison{Kind: whittle.Statistical, Value: tc.value, Ignore: tc.ignore, Confidence: 0.99}
		m, err := newRandom(c, 0.01, &display.View{})
		if err != nil {
			t.Fatalf("%s: %v", tc.value, err)
		}
		m.around.Observe(m.textsOf(&whittle.Exchange{Monolith: tc.a, Candidate: tc.b}))
		var from, to string
		for _, k := range m.around.marks {
			from, to = k.Path+k.Changes[0].From, k.Path+k.Changes[0].To
		}
		if from != tc.from || to != tc.to {
			t.Errorf("%s: %s and %s differ: %s, %s", tc.value, tc.a.Body, tc.b.Body, from, to)
		}
	}
}
