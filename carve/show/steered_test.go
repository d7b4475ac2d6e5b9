package show

import (
	"strings"
	"testing"
	"time"

	"whittle"
)

// TestSteered: what is under way is not said to be in force, and each proxy is named.
func TestSteered(t *testing.T) {
	var b strings.Builder
	Route(&b, &whittle.RouteStatus{Route: "GET /a", Phase: whittle.PhaseRolledBack, Steer: &whittle.SteerStatus{
		By: "haproxy", UnderWay: "fall to 0 %", Proxies: []whittle.SteerInstance{
			{Name: "a", Read: time.Now(), Confirmed: true, Note: "it had 90 %"},
			{Name: "b", Read: time.Now(), Share: 500, Trouble: "connection refused"},
			{Name: "c"},
		},
	}})
	for _, want := range []string{
		"share     0 % at the proxy (rolled back, fall to 0 % under way)\n",
		"haproxy   a has 0 %, confirmed; it had 90 %\n", "haproxy   b has 5 %, not confirmed: connection refused\n", "haproxy   c has no share that is known\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
