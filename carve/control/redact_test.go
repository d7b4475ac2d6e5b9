package control_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare"
	"whittle/carve/control"
	"whittle/internal/fatal"
)

// TestNothingSecretIsShown: whatever differs, and by whichever kind of
// comparison, no secret of the exchanges is in the verdict or in what is kept.
func TestNothingSecretIsShown(t *testing.T) {
	secrets := []string{"hunter2", "s3cr3t", "bob@example.com", "4111111111111111", "eve@example.com", "ghp_0123456789abcdefghij", "sk_live_51Hx8f2KqWz9Y3b7Lm"}
	header := func(kind string) whittle.Header {
		return whittle.Header{"Content-Type": {kind}, "Authorization": {"Bearer s3cr3t"}}
	}
	bodies := map[string][2]string{
		"a field by its name": {`{"password":"hunter2","n":1}`, `{"password":"hunter23","n":2}`},
		"an address":          {`{"to":"bob@example.com"}`, `{"to":"eve@example.com"}`},
		"a card":              {`{"n":4111111111111111}`, `{"n":1}`},
		"a key":               {`{"bob@example.com":1}`, `{"eve@example.com":1}`},
		"a key above":         {`{"users":{"bob@example.com":{"n":1,"m":[1]}}}`, `{"users":{"bob@example.com":{"n":2,"m":[]}}}`},
		"a key that is gone":  {`{"users":{"a":1,"bob@example.com":{"n":1}}}`, `{"users":{"a":1}}`},
		"an issued key":       {`{"by":{"ghp_0123456789abcdefghij", "sk_live_51Hx8f2KqWz9Y3b7Lm":{"n":1}}}`, `{"by":{"ghp_0123456789abcdefghij":{"n":"x"}}}`},
		"a random key":        {`{"by":{"sk_live_51Hx8f2KqWz9Y3b7Lm":{"n":1}}}`, `{"by":{"sk_live_51Hx8f2KqWz9Y3b7Lm":{"n":"x"}}}`},
		"a whole object":      {`{"a":{"token":"s3cr3t"}}`, `{"b":{"token":"s3cr3t"}}`},
		"no JSON":             {`password=hunter2 for bob@example.com`, `password=s3cr3t for eve@example.com`},
		"JSON and none":       {`{"password":"hunter2"}`, `<password>s3cr3t</password>`},
		"binary":              {"\x00hunter2", "\x00s3cr3t"},
		"a number and a name": {"Counted to 50 for bob@example.com", "Counted to 51000 for eve@example.com"},
	}
	for _, kind := range []whittle.CompareKind{whittle.Exact, whittle.JSON, whittle.Statistical} {
		for name, pair := range bodies {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				c := whittle.Comparison{Kind: kind, AllHeaders: true, Value: "number in the body", Confidence: 0.99, MaxDiffer: 0.005, MinCompared: 10}
				j, err := control.NewJudge(c)
				fatal.If(t, err)
				former, err := compare.NewJudge(c) // of a version that did not redact
				fatal.If(t, err)
				for i := range 60 {
					kind, status := "text/plain", 200
					if i%10 == 9 { // also through the heads
						status = 500
					}
					x := &whittle.Exchange{
						At: time.Unix(int64(i), 0),
						Request: whittle.Request{
							Method: "POST", Target: fmt.Sprintf("/u/bob@example.com?token=s3cr3t&i=%d", i), Header: header(kind),
							Body: []byte(`{"password":"hunter2","card":"4111111111111111"}`),
						},
						Monolith:  whittle.Response{Status: 200, Header: header(kind), Body: []byte(pair[0])},
						Candidate: whittle.Response{Status: status, Header: header(kind), Body: []byte(pair[1])},
					}
					if i%3 == 0 { // and through those of headers, with the same bodies
						x.Candidate.Body = x.Monolith.Body
						x.Monolith.Header["Location"] = []string{"/in?token=s3cr3t&to=bob@example.com"}
						x.Monolith.Header["Set-Cookie"] = []string{"sid=hunter2; Path=/", "s3cr3t; HttpOnly", `u="a;token=s3cr3t"`, "v=1; Path=/u/bob@example.com"}
						x.Candidate.Header["Location"] = []string{"/in?token=hunter2"}
						x.Candidate.Header["Link"] = []string{"</u/eve@example.com>; rel=next"}
					}
					j.Observe(x)
					former.Observe(x)
				}
				nothingSecret(t, j, secrets)
				kept, err := former.MarshalBinary()
				fatal.If(t, err)
				restored, err := control.NewJudge(c)
				fatal.If(t, err)
				fatal.If(t, restored.UnmarshalBinary(kept))
				if name != "binary" { // of which only what is printable was kept, without a secret's name or shape
					nothingSecret(t, restored, secrets)
				}
			})
		}
	}
}

// nothingSecret looks at what a judge shows and keeps.
func nothingSecret(t *testing.T, j control.Judge, secrets []string) {
	t.Helper()
	v := j.Verdict()
	shown, err := json.Marshal(v)
	fatal.If(t, err)
	kept, err := j.MarshalBinary()
	fatal.If(t, err)
	if len(v.Findings) == 0 || !strings.Contains(string(shown), "redacted-") {
		t.Errorf("nothing is shown: %s", shown)
	}
	for _, s := range secrets {
		if strings.Contains(string(shown), s) {
			t.Errorf("%s is shown: %s", s, shown)
		}
		if strings.Contains(string(kept), s) {
			t.Errorf("%s is kept: %s", s, kept)
		}
	}
}
