package jmeter

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"testing"

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
