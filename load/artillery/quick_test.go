package artillery

import (
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/load/plan"
)

func TestQuickMistakesAreReported(t *testing.T) {
	const at = "http://127.0.0.1:1"
	for says, q := range map[string]Quick{
		"is not a URL":                {URL: "127.0.0.1:80"},
		"not a URL such":              {URL: "ftp://x/"},
		"is not JSON":                 {URL: at, JSON: "{"},
		"one body":                    {URL: at, JSON: "{}", Body: "x"},
		"form \"Name: value\"":        {URL: at, Headers: []string{"X"}},
		"is not a header's name":      {URL: at, Headers: []string{": x"}},
		"is not a method":             {URL: at, Method: "G T"},
		"either a rate":               {URL: at, Rate: 1, Duration: time.Second, Closed: plan.Closed{Users: 2}},
		"--rate needs --duration":     {URL: at, Rate: 1},
		"a rate of -1":                {URL: at, Rate: -1, Duration: time.Second},
		"a think time of -1":          {URL: at, Think: -1},
		"a timeout of -1":             {URL: at, Timeout: -1},
		"users are not within":        {URL: at, Closed: plan.Closed{Users: plan.MaxClosed + 1}},
		"nothing in the plan defines": {URL: at, Body: "{{ x }}"},
	} {
		_, err := q.Plan()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "flags:") || whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%+v: %v, want %q", q, err, says)
		}
	}
}

// TestEachHeaderThatIsGivenIsSent: also those of one name, in their order; and the body's own
// content type only where none is given.
func TestEachHeaderThatIsGivenIsSent(t *testing.T) {
	const at = "http://127.0.0.1:1"
	for _, c := range []struct {
		given []string
		want  string
	}{
		{[]string{"X-A: 1", "x-a: 2", "X-B: 3"}, "content-type x-a x-a x-b"},
		{[]string{"Content-Type: text/plain", "X-A: 1"}, "content-type x-a"},
		{nil, "content-type"},
	} {
		p, err := Quick{URL: at, JSON: "{}", Headers: c.given}.Plan()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range p.Requests()[0].Headers {
			got = append(got, h.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, want %q", c.given, got, c.want)
		}
	}
	if _, err := (Quick{URL: at, Headers: []string{"Host: a", "host: b"}}).Plan(); err == nil || !strings.Contains(err.Error(), "host is given twice") {
		t.Errorf("two hosts: %v", err)
	}
}
