package profile

import "testing"

// An endpoint leads for sure only where the CPU time of no known request,
// given whole to whichever other endpoint, would not put that one ahead.
func TestALeadIsSureOnlyAboveWhatIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		cpu  map[string]int64
		want Lead
		sure bool
	}{
		"all is known":        {map[string]int64{"a": 70, "b": 30}, Lead{Endpoint: "a", Next: "b", Share: 0.7, Over: 0.4, Unknown: 0}, true},
		"a little is unknown": {map[string]int64{"a": 60, "b": 25, "": 15}, Lead{Endpoint: "a", Next: "b", Share: 0.6, Over: 0.35, Unknown: 0.15}, true},
		"as much as the lead": {map[string]int64{"a": 50, "b": 25, "": 25}, Lead{Endpoint: "a", Next: "b", Share: 0.5, Over: 0.25, Unknown: 0.25}, true},
		"more than the lead":  {map[string]int64{"a": 49, "b": 25, "": 26}, Lead{Endpoint: "a", Next: "b", Share: 0.49, Over: 0.24, Unknown: 0.26}, false},
		"one of twelve parts": {map[string]int64{"a": 8, "b": 4, "": 88}, Lead{Endpoint: "a", Next: "b", Share: 0.08, Over: 0.04, Unknown: 0.88}, false},
		"one endpoint":        {map[string]int64{"a": 60, "": 40}, Lead{Endpoint: "a", Next: "", Share: 0.6, Over: 0.6, Unknown: 0.4}, true},
		"one, and mostly not": {map[string]int64{"a": 40, "": 60}, Lead{Endpoint: "a", Next: "", Share: 0.4, Over: 0.4, Unknown: 0.6}, false},
		"none":                {map[string]int64{"": 100}, Lead{Unknown: 1}, false},
		"nothing":             {nil, Lead{}, false},
		"idle endpoints":      {map[string]int64{"a": 100, "b": 0}, Lead{Endpoint: "a", Next: "", Share: 1, Over: 1, Unknown: 0}, true},
		"as dear as another":  {map[string]int64{"b": 50, "a": 50}, Lead{Endpoint: "a", Next: "b", Share: 0.5, Over: 0, Unknown: 0}, false},
		"within chance":       {map[string]int64{"b": 46, "a": 54}, Lead{Endpoint: "a", Next: "b", Share: 0.54, Over: 0.08, Unknown: 0}, false},
		"beyond chance":       {map[string]int64{"b": 38, "a": 62}, Lead{Endpoint: "a", Next: "b", Share: 0.62, Over: 0.24, Unknown: 0}, true},
		"too few samples":     {map[string]int64{"a": 29}, Lead{Endpoint: "a", Share: 1, Over: 1}, false},
		"third is no matter":  {map[string]int64{"a": 50, "b": 20, "c": 25, "": 5}, Lead{Endpoint: "a", Next: "c", Share: 0.5, Over: 0.25, Unknown: 0.05}, true},
	} {
		spent := map[string]Tally{}
		for e, v := range c.cpu {
			spent[e] = Tally{Value: v * 1e7, Samples: v}
			c.want.Samples += v
		}
		c.want.First, c.want.Second = 0, c.cpu[c.want.Next]
		if c.want.Endpoint != "" {
			c.want.First = c.cpu[c.want.Endpoint]
		}
		if c.want.Next == "" {
			c.want.Second = 0
		}
		got := LeadOf(spent)
		if got != c.want || got.Sure() != c.sure {
			t.Errorf("%s: %+v, sure %v; want %+v, %v", name, got, got.Sure(), c.want, c.sure)
		}
	}
}
