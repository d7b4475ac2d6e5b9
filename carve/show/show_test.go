package show

import (
	"strings"
	"testing"

	"whittle"
)

// TestDiffsShowThePlace: of a sample with a place, the place and its two values
// are shown in the place of the bodies' beginnings.
func TestDiffsShowThePlace(t *testing.T) {
	v := whittle.Verdict{Findings: []whittle.Finding{{Kind: whittle.FoundField, Path: "$.items[*].price", Samples: []whittle.Sample{
		{
			Request: "GET /orders", Monolith: `{"items":[`, Candidate: `{"items":[`, Where: "$.items[3].price",
			MonolithValue: `"1.50"`, CandidateValue: `"1.5"`, MonolithAround: `{"id": 7, "price": "1.50"}`, CandidateAround: `{"id": 7, "price": "1.5"}`,
		},
		{Request: "GET /other", Monolith: "a whole", Candidate: "another"},
	}}}}
	var out strings.Builder
	Findings(&out, &v)
	for _, want := range []string{
		"  GET /orders\n             at        $.items[3].price\n             monolith  \"1.50\"   in {\"id\": 7, \"price\": \"1.50\"}\n             candidate \"1.5\"   in {\"id\": 7, \"price\": \"1.5\"}\n",
		"  GET /other\n             monolith  a whole\n             candidate another\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), `{"items":[`) {
		t.Errorf("the body's beginning is shown:\n%s", &out)
	}
}
