package load

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

func TestWhatMeansNothingIsRefusedBeforeAnythingIsSent(t *testing.T) {
	asked := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer srv.Close()
	for says, o := range map[string]Options{
		"a pool of -1":                {Pool: -1},
		"-2 users at once":            {MaxInFlight: -2},
		"a schedule error of at most": {MaxLate: -time.Second},
		"no target":                   {},
	} {
		if says != "no target" {
			o.Target = srv.URL
		}
		_, err := NewRunner(parsed(t, small), o)
		if whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if asked {
		t.Error("a request was sent")
	}
}

// A runner does not change, so each of its runs sends the same.
func TestARunnerMayRunAgain(t *testing.T) {
	d := newDiary(t, shop)
	r, err := NewRunner(parsed(t, `
config: {target: '`+d.URL+`', phases: [{duration: 0.1, arrivalCount: 5}]}
scenarios: [{flow: [{get: {url: '/{{ $randomNumber(1, 1000000) }}'}}]}]`), Options{})
	fatal.If(t, err)
	var asked [2]map[string]int
	for i := range asked {
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked[i] = map[string]int{}
		for _, line := range d.read() {
			asked[i][line]++
		}
	}
	// The diary has both runs by then: each line twice as often.
	for line, n := range asked[0] {
		if asked[1][line] != 2*n {
			t.Errorf("%s: %d times in one run, %d in both", line, n, asked[1][line])
		}
	}
}
