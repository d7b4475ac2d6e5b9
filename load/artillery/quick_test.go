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
