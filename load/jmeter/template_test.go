package jmeter

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/load/expr"
	"whittle/load/plan"
)

// testdata/references.json has texts, each with what JMeter 5.6.3 makes of it where x is X1
// and a is A1, as its ValueReplacer and a FunctionProperty gave it; a text without that is
// one that JMeter starts no test with.
func TestReferencesAreReadAsJMeterReadsThem(t *testing.T) {
	src, err := os.ReadFile("testdata/references.json")
	fatal.If(t, err)
	var all [][]string
	fatal.If(t, json.Unmarshal(src, &all))
	for _, c := range all {
		got, err := sentBody(c[0])
		switch {
		case len(c) == 1 && err == nil:
			t.Errorf("%q is %q, and JMeter refuses it", c[0], got)
		case len(c) == 2 && (err != nil || got != c[1]):
			t.Errorf("%q is %q (%v), want %q", c[0], got, err, c[1])
		}
	}
	if len(all) < 200 {
		t.Errorf("%d texts", len(all))
	}
}

// sentBody is what a request sends whose raw body is a text.
func sentBody(text string) (string, error) {
	variable := func(name, value string) string {
		return `<elementProp name="` + name + `" elementType="Argument"><stringProp name="Argument.name">` + name + `</stringProp><stringProp name="Argument.value">` + value + `</stringProp></elementProp>`
	}
	var escaped bytes.Buffer
	if err := xml.EscapeText(&escaped, []byte(text)); err != nil {
		return "", err
	}
	p, err := Parse("p.jmx", []byte(testPlan(`<Arguments><collectionProp name="Arguments.arguments">`+variable("x", "X1")+variable("a", "A1")+`</collectionProp></Arguments><hashTree/>`+
		threadGroup(1, 1, `<HTTPSamplerProxy testname="s"><boolProp name="HTTPSampler.postBodyRaw">true</boolProp><stringProp name="HTTPSampler.path">/</stringProp><stringProp name="HTTPSampler.method">POST</stringProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"><elementProp name="" elementType="HTTPArgument"><stringProp name="Argument.value">`+escaped.String()+`</stringProp></elementProp></collectionProp></elementProp></HTTPSamplerProxy><hashTree/>`))), plan.Source{})
	if err != nil {
		return "", err
	}
	return string(p.Requests()[0].Body.Render(nil, &expr.Scope{Values: make([]expr.Value, 10)})), nil
}

// The plugin's own runs gave the times: when each user's first and last request came.
func TestUsersOfASteppingGroupComeAndGoAsByThePlugin(t *testing.T) {
	type users struct {
		n           int
		delay, hold time.Duration
	}
	const s = time.Second
	for _, c := range []struct {
		total, first, step, every, ramp, flight, out, off int
		want                                              []users
	}{
		{total: 2, first: 1, step: 1, every: 1, flight: 2, out: 2, off: 1, want: []users{{1, 0, 3 * s}, {1, s, 2 * s}}},
		{total: 2, first: 1, step: 1, every: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, s}, {1, s, s}}},
		{total: 3, step: 2, every: 1, ramp: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, 5 * s / 2}, {1, s / 2, 3 * s}, {1, 2 * s, 5 * s / 2}}},
		{total: 4, step: 4, every: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, s}, {1, 0, 2 * s}, {1, 0, 3 * s}}}, // the first goes before it has come
		{total: 5, first: 2, step: 2, every: 1, ramp: 1, flight: 1, out: 2, off: 1, want: []users{{2, 0, 11 * s / 2}, {2, 2 * s, 9 * s / 2}, {1, 4 * s, 7 * s / 2}}},
	} {
		var properties strings.Builder
		for name, n := range map[string]int{
			"ThreadGroup.num_threads": c.total, "Start users count burst": c.first, "Start users count": c.step, "Start users period": c.every,
			"rampUp": c.ramp, "flighttime": c.flight, "Stop users count": c.out, "Stop users period": c.off,
		} {
			fmt.Fprintf(&properties, `<stringProp name="%s">%d</stringProp>`, name, n)
		}
		p, err := Parse("p.jmx", []byte(testPlan(`<`+steppingGroup+`>`+properties.String()+`</`+steppingGroup+`><hashTree>`+sampler("/", "")+`</hashTree>`)), plan.Source{})
		fatal.If(t, err)
		var got []users
		for _, g := range p.Groups {
			got = append(got, users{g.Users, g.Delay, g.Duration})
			if !g.Fresh {
				t.Error("its users keep their connections from loop to loop")
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
