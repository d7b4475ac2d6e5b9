package evidence

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// TestOutcomes: what is sent comes back as it was, bounded, and within a message; nothing else is
// read.
func TestOutcomes(t *testing.T) {
	all := make([]whittle.Outcome, MaxOutcomes+1)
	for i := range all {
		all[i] = whittle.Outcome{
			Route: "GET /x", User: 1<<63 + uint64(i), At: time.Unix(1_700_000_000, int64(i)).UTC(), Side: whittle.Side(i % 2), Status: 599,
			Failure: whittle.FailedTooLarge, Latency: time.Duration(i) * time.Millisecond, FellBack: i%5 == 0, BothBad: i%10 == 0,
		}
	}
	b, err := EncodeOutcomes(all)
	fatal.If(t, err)
	if got, ok := Outcomes(b); !ok || !reflect.DeepEqual(got, all[:MaxOutcomes]) || len(b) > MaxMessage {
		t.Errorf("%t, %d outcomes in %d bytes", ok, len(got), len(b))
	}
	for name, text := range map[string]string{
		"another version": `{"version":2}`, "no JSON": "x", "too many": fmt.Sprintf(`{"version":1,"outcomes":[%s{}]}`, strings.Repeat("{},", MaxOutcomes)),
	} {
		if _, ok := Outcomes([]byte(text)); ok {
			t.Errorf("%s is taken", name)
		}
	}
}
