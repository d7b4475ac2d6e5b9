package compare

import (
	"bytes"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/internal/jsonpath"
)

// onlyValues takes a secret out of single texts, and leaves the rest alone.
type onlyValues struct{ display.Redactor }

func (onlyValues) Request(*whittle.Request)   {}
func (onlyValues) Response(*whittle.Response) {}
func (onlyValues) Value(_ []jsonpath.Element, v []byte) []byte {
	return bytes.ReplaceAll(v, []byte("4111"), []byte("redacted"))
}

// TestAFailureIsShownWithItsReason: the sample of a response that never came says
// why, without what is secret.
func TestAFailureIsShownWithItsReason(t *testing.T) {
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON})
	j.Redact(onlyValues{})
	for range 40 {
		j.Observe(&whittle.Exchange{
			Request:   whittle.Request{Method: "GET", Target: "/orders"},
			Monolith:  whittle.Response{Status: 200, Body: []byte(`{"state":"open"}`)},
			Candidate: whittle.Response{Failure: whittle.FailedMalform, Detail: "twirp: shop.v1.Order.state is 7, which no word of JSON stands for; 4111"},
		})
	}
	for _, f := range j.Verdict().Findings {
		if f.Kind == whittle.FoundFailure && len(f.Samples) > 0 {
			if s := f.Samples[0]; !strings.HasPrefix(s.Candidate, "no response (malformed): twirp: shop.v1.Order.state is 7") || strings.Contains(s.Candidate, "4111") || s.Monolith != `{"state":"open"}` {
				t.Errorf("%+v", s)
			}
			return
		}
	}
	t.Errorf("no finding has a sample: %+v", j.Verdict())
}
