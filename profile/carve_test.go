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
		"all is known":         {map[string]int64{"a": 70, "b": 30}, Lead{"a", "b", 0.7, 0.4, 0}, true},
		"a little is unknown":  {map[string]int64{"a": 60, "b": 25, "": 15}, Lead{"a", "b", 0.6, 0.35, 0.15}, true},
		"as much as the lead":  {map[string]int64{"a": 50, "b": 25, "": 25}, Lead{"a", "b", 0.5, 0.25, 0.25}, true},
		"more than the lead":   {map[string]int64{"a": 49, "b": 25, "": 26}, Lead{"a", "b", 0.49, 0.24, 0.26}, false},
		"one of twelve parts":  {map[string]int64{"a": 8, "b": 4, "": 88}, Lead{"a", "b", 0.08, 0.04, 0.88}, false},
		"one endpoint":         {map[string]int64{"a": 60, "": 40}, Lead{"a", "", 0.6, 0.6, 0.4}, true},
		"one, and mostly not":  {map[string]int64{"a": 40, "": 60}, Lead{"a", "", 0.4, 0.4, 0.6}, false},
		"none":                 {map[string]int64{"": 100}, Lead{Unknown: 1}, false},
		"nothing":              {nil, Lead{}, false},
		"idle endpoints":       {map[string]int64{"a": 100, "b": 0}, Lead{"a", "", 1, 1, 0}, true},
		"in order of the name": {map[string]int64{"b": 50, "a": 50}, Lead{"a", "b", 0.5, 0, 0}, true},
		"third is no matter":   {map[string]int64{"a": 50, "b": 20, "c": 25, "": 5}, Lead{"a", "c", 0.5, 0.25, 0.05}, true},
	} {
		var total int64
		for _, v := range c.cpu {
			total += v
		}
		got := LeadOf(c.cpu, total)
		if got != c.want || got.Sure() != c.sure {
			t.Errorf("%s: %+v, sure %v; want %+v, %v", name, got, got.Sure(), c.want, c.sure)
		}
	}
}
