package load

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
)

func openText(text string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if name != "rows.csv" {
			return nil, whittle.Errorf(whittle.NotFound, "no file %s", name)
		}
		return []byte(text), nil
	}
}

func TestPayloadRowsReachTheirUsers(t *testing.T) {
	var mu sync.Mutex
	got := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		got[string(b)]++
		mu.Unlock()
	}))
	defer srv.Close()
	src := Source{Open: openText("\xef\xbb\xbfname;n;x\nann;1;\"a;b\"\n\nbob;2.50;0x1\ncy;007;-\n")}
	for _, c := range []struct {
		settings string
		want     []string
	}{
		{"", []string{`{"a":"ann","n":1,"x":"a;b"}`, `{"a":"bob","n":2.5,"x":"0x1"}`, `{"a":"cy","n":7,"x":"-"}`}},
		{", cast: false", []string{`{"a":"ann","n":"1","x":"a;b"}`, `{"a":"bob","n":"2.50","x":"0x1"}`, `{"a":"cy","n":"007","x":"-"}`}},
	} {
		clear(got)
		p, err := src.ParsePlan("p.yml", []byte(`
config:
  phases: [{duration: 0.1, arrivalCount: 6}]
  payload: {path: rows.csv, fields: [name, n, x], skipHeader: true, delimiter: ";", order: sequence`+c.settings+`}
scenarios: [{flow: [{post: {url: /, json: {a: "{{ name }}", n: "{{ n }}", x: "{{ x }}"}}}]}]`))
		if err != nil {
			t.Fatal(err)
		}
		run(t, p, Options{Target: srv.URL})
		for _, want := range c.want {
			if got[want] != 2 {
				t.Errorf("%s: %d of %s, want 2; all: %v", c.settings, got[want], want, got)
			}
		}
	}
}

func TestPayloadErrors(t *testing.T) {
	for csv, says := range map[string]string{"": "no rows", "a\n": `a row of 1 columns where 2 fields are named: "a"`} {
		_, err := Source{Open: openText(csv)}.ParsePlan("p.yml", []byte("config: {payload: {path: rows.csv, fields: [a, b]}}\n"+small))
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "p.yml:1:26: ") {
			t.Errorf("%q: %v", csv, err)
		}
	}
	for _, c := range []struct{ payload, says string }{
		{"{path: other.csv, fields: [a]}", "no file other.csv"},
		{"{path: rows.csv}", "a path and a list of fields"},
		{"{path: rows.csv, fields: [a], delimiter: ab}", "one character"},
		{"{path: rows.csv, fields: [a b]}", "not a variable's name"},
		{"{path: rows.csv, fields: [a], loadAll: true}", "loadAll has a name"},
	} {
		_, err := Source{Open: openText("x\n")}.ParsePlan("p.yml", []byte("config: {payload: "+c.payload+"}\n"+small))
		if _, coded := errors.AsType[*whittle.Error](err); !coded || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.payload, err)
		}
	}
}

func TestAnEnvironmentIsPutOverThePlan(t *testing.T) {
	src := small + `
config:
  target: http://a
  mode: poisson
  http: {timeout: 4}
  phases: [{duration: 1, arrivalRate: 1}]
  environments:
    dev: {target: "http://dev"}
    big: {phases: [{duration: 60, arrivalRate: 500}], http: {pool: 9}}
    odd: {processor: ./f.js}
`
	for name, want := range map[string]string{
		"":    "http://a 1s 1 0 true 4s",
		"dev": "http://dev 1s 1 0 true 4s",
		"big": "http://a 1m0s 500 9 true 4s",
	} {
		p, err := Source{Environment: name}.ParsePlan("p.yml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(p.Target, " ", p.Phases[0].Duration, " ", p.Phases[0].Rate, " ", p.HTTP.Pool, " ", p.Phases[0].Poisson, " ", p.HTTP.Timeout.Round(time.Second))
		if got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	for name, says := range map[string]string{"none": `no environment is named "none"`, "odd": "processor is not supported"} {
		if _, err := (Source{Environment: name}).ParsePlan("p.yml", []byte(src)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
