package measure

import (
	"errors"
	"strings"
	"testing"

	"whittle/profile"
	"whittle/profile/collect"
)

// What was measured is not thrown away where the inspector does not close, as with an event
// loop that is blocked for longer than anybody waits; and that it is open is said.
func TestAMeasurementIsKeptThoughItsInspectorStaysOpen(t *testing.T) {
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Functions: []profile.Function{{Name: "work"}}, Samples: []profile.Sample{{Stack: []profile.Frame{{}}, Value: 1}}}
	s := &subject{got: &Measured{Taken: []*collect.Collected{{Profile: p}}}}
	var err error
	if s.closed(errors.New("close inspector of a: it is still open"), &err); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(s.got.Report().Warnings, "\n"); !strings.Contains(all, "it is still open") {
		t.Errorf("warnings %q", all)
	}
	failed := errors.New("it ended")
	err = failed
	if s.closed(errors.New("still open"), &err); !errors.Is(err, failed) || !strings.Contains(err.Error(), "still open") {
		t.Errorf("%v", err)
	}
}
