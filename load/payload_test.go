package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"whittle"
	"whittle/load/plan"
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
	src := plan.Source{Open: openText("\xef\xbb\xbfname;n;x\nann;1;\"a;b\"\n\nbob;2.50;0x1\ncy;007;-\n")}
	for _, c := range []struct {
		settings string
		want     []string
	}{
		{"", []string{`{"a":"ann","n":1,"x":"a;b"}`, `{"a":"bob","n":2.5,"x":0}`, `{"a":"cy","n":7,"x":"-"}`}},
		{", cast: false", []string{`{"a":"ann","n":"1","x":"a;b"}`, `{"a":"bob","n":"2.50","x":"0x1"}`, `{"a":"cy","n":"007","x":"-"}`}},
	} {
		clear(got)
		p, err := Parse("p.yml", []byte(`
config:
  phases: [{duration: 0.1, arrivalCount: 6}]
  payload: {path: rows.csv, fields: [name, n, x], skipHeader: true, delimiter: ";", order: sequence`+c.settings+`}
scenarios: [{flow: [{post: {url: /, json: {a: "{{ name }}", n: "{{ n }}", x: "{{ x }}"}}}]}]`), src)
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
